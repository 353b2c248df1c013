/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How fast a primary gets on, from up to three sources, and which of them is believed
 * when they say what guests cost it (policy/harm.h).
 *
 *  run delay      the part of the time that its tasks wanted CPUs for and had them.
 *                 Proves what guests take of CPUs; sees nothing of caches, memory, and
 *                 ranks on other nodes.
 *  instructions   of its threads, by the time that they wanted CPUs for.  Sees caches
 *                 and memory as well.  A rank that waits in a loop executes
 *                 instructions, too.
 *  iterations     that its ranks count in their pages (common/page.h).  Sees all that
 *                 the program feels, other nodes included.  But pages are files of the
 *                 user's, who may write into them whatever he likes.
 *
 * The first two are of the kernel and of the CPU: who wants them to show harm has to
 * become slower.  What they prove is a floor, so that no page hides it.  What a page
 * claims beyond that is bounded in size, and in what may follow from it
 * (hpcb_progress_most).
 */
#ifndef HPCB_POLICY_PROGRESS_H
#define HPCB_POLICY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include "policy/guard.h"
#include "policy/harm.h"

/* Each is better than the one before if it can be believed. */
typedef enum {
    HPCB_PROGRESS_RUN_DELAY,
    HPCB_PROGRESS_INSTRUCTIONS,
    HPCB_PROGRESS_ITERATIONS,
    HPCB_PROGRESS_SOURCES
} hpcb_progress_source_t;

/* As it is in records: "run_delay". */
const char *hpcb_progress_name(hpcb_progress_source_t source);

/* Fewer iterations than that while guests are stopped are too few to compare. */
#define HPCB_PROGRESS_ITERATIONS_MIN 10

/* A page claims at most that guests double the primary's time, or halve it. */
#define HPCB_PROGRESS_CLAIM_MAX 2.0

/* A page that has said nothing for so long is not a measure of now, nor is one that is
 * ahead by as much. */
#define HPCB_PROGRESS_SILENT_NS UINT64_C(100000000)

/* A source that has nothing to say in so many comparisons in a row begins anew. */
#define HPCB_PROGRESS_MISSES_MAX 8

/* One reading, over all that the job has here.  What it has not is not compared. */
typedef struct {
    uint64_t time_us;  /* CLOCK_MONOTONIC */
    uint64_t cpu_us;   /* on a CPU */
    uint64_t delay_us; /* ready, and without one */
    bool has_instructions;
    uint64_t instructions;
    bool has_iterations;
    double iterations; /* mean of its ranks; in parts (hpcb_progress_place) */
} hpcb_progress_at_t;

/*
 * Where a rank is in its iterations at now_ns: it has ended so many at ended_ns, and
 * each took mean_ns lately.  Pages are read one after the other, so ended_ns may be a
 * little later than now_ns.  Return false if its page says nothing of now.
 */
bool hpcb_progress_place(uint64_t iterations, uint64_t mean_ns, uint64_t ended_ns,
                         uint64_t now_ns, double *place);

/* Progress in any unit, above 0; 0 if the source says nothing of this time, or the job
 * wanted CPUs for next to none of it. */
double hpcb_progress_rate(hpcb_progress_source_t source, const hpcb_progress_at_t *from,
                          const hpcb_progress_at_t *to);

/* The readings of an experiment: a time with guests, one without, one with guests. */
enum {
    HPCB_PROGRESS_BEFORE,
    HPCB_PROGRESS_STOP,
    HPCB_PROGRESS_GO,
    HPCB_PROGRESS_AFTER,
    HPCB_PROGRESS_READINGS
};

/* All zero: no comparison yet.  Owned by the caller. */
typedef struct {
    hpcb_harm_t harm[HPCB_PROGRESS_SOURCES];
    unsigned misses[HPCB_PROGRESS_SOURCES]; /* in a row */
} hpcb_progress_t;

/* Forget all comparisons. */
void hpcb_progress_clear(hpcb_progress_t *progress);

/* Take in an experiment, if the job had something to do in it. */
void hpcb_progress_add(hpcb_progress_t *progress,
                       const hpcb_progress_at_t at[HPCB_PROGRESS_READINGS]);

typedef struct {
    /* What guests cost, and the source that says so.  No figure is below what run
     * delay and instructions prove, the lower ends of their intervals. */
    hpcb_harm_estimate_t found;
    hpcb_progress_source_t source;
    /* The lower end of what is proven, without a page's word. */
    double proven_low;
    /* A source that claims less than what is proven is not believed; the last such one,
     * and its estimate. */
    bool doubts;
    hpcb_progress_source_t doubted;
    hpcb_harm_estimate_t claim;
} hpcb_progress_verdict_t;

/* The best source that is believed and has most of the comparisons.  Return false if
 * there are too few; then *out is untouched. */
bool hpcb_progress_judge(const hpcb_progress_t *progress, hpcb_progress_verdict_t *out);

/*
 * How far guests may be restricted for this: as far as the guard goes if it is proven
 * that they cost more than max_slowdown.  On a page's word alone they keep a quarter of
 * their time, so that they are not starved, are not requeued, and no pair of programs
 * is bad company.
 */
hpcb_guard_level_t hpcb_progress_most(const hpcb_progress_verdict_t *verdict,
                                      double max_slowdown);

#endif
