/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The progress of a primary from up to three sources, and the choice of the source for
 * the cost of guests (policy/harm.h).
 *
 *  run delay     part of the wanted CPU time that its tasks got.  Includes CPU time
 *                that guests take, but not caches, memory and other nodes.  Not there
 *                if the kernel accounts no pressure.
 *  instructions  of its threads, per wanted CPU time (per CPU time without run delay).
 *                Includes caches and memory.  A rank that polls executes instructions
 *                too.
 *  iterations    that its ranks count in their status pages (common/page.h).  Includes
 *                other nodes.  The user owns the pages and can write any number.
 *
 * The kernel and the CPU count the first two.  A job forges them if its tasks wait for
 * one another or do other work while guests run.  So neither proves more than guests
 * can have done: next to guests that used the CPU time G while the job used U, a cost
 * of G / U.  For run delay these are the guests that may be on the job's CPUs, for
 * instructions all guests of the node.  The lower ends of their intervals are floors
 * for the result.  A claim of a status page beyond them is limited in size and in its
 * effect (hpcb_progress_most).
 */
#ifndef HPCB_POLICY_PROGRESS_H
#define HPCB_POLICY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include "policy/guard.h"
#include "policy/harm.h"
#include "policy/typical.h"

/* In ascending order of preference. */
typedef enum {
    HPCB_PROGRESS_RUN_DELAY,
    HPCB_PROGRESS_INSTRUCTIONS,
    HPCB_PROGRESS_ITERATIONS,
    HPCB_PROGRESS_SOURCES
} hpcb_progress_source_t;

/* Return the name that records have, for example "run_delay". */
const char *hpcb_progress_name(hpcb_progress_source_t source);

/* A comparison needs as many iterations while guests are stopped. */
#define HPCB_PROGRESS_ITERATIONS_MIN 10

/* A page can claim at most that guests double or halve the primary's time. */
#define HPCB_PROGRESS_CLAIM_MAX 2.0

/* A page whose time differs from now by more is ignored. */
#define HPCB_PROGRESS_SILENT_NS UINT64_C(100000000)

/* A source without a value in so many comparisons in a row starts again. */
#define HPCB_PROGRESS_MISSES_MAX 8

/* One reading of a job on this node. */
typedef struct {
    uint64_t time_us; /* CLOCK_MONOTONIC; 0: not read (allowed between parts) */
    uint64_t cpu_us;  /* CPU time of its tasks */
    bool has_delay;
    uint64_t delay_us; /* time in which they were ready and had no CPU */
    bool has_instructions;
    uint64_t instructions;
    bool has_iterations;
    double iterations; /* mean of its ranks (hpcb_progress_place) */
    bool has_guests;
    uint64_t guests_us; /* CPU time of all guests of the node */
    uint64_t near_us;   /* of those that may be on the job's CPUs */
} hpcb_progress_at_t;

/*
 * Compute the iterations of a rank at now_ns, with the part of the current one.  The
 * rank had ended that many at ended_ns, which may be slightly later than now_ns, and
 * the last ones took mean_ns each.  Return false if ended_ns is too far from now_ns.
 */
bool hpcb_progress_place(uint64_t iterations, uint64_t mean_ns, uint64_t ended_ns,
                         uint64_t now_ns, double *place);

/* Return the progress per second between two readings, in units of the source, or 0 if
 * the source has no value or the job hardly wanted CPUs. */
double hpcb_progress_rate(hpcb_progress_source_t source, const hpcb_progress_at_t *from,
                          const hpcb_progress_at_t *to);

/* Parts of each time with guests (policy/typical.h). */
#define HPCB_PROGRESS_PARTS (HPCB_TYPICAL_PARTS / 2)

/* The readings of an experiment: with guests, without, and some time later with guests
 * again (hpcb_harm_stop_t).  Those between the first and the last of a time with guests
 * are between its parts. */
enum {
    HPCB_PROGRESS_BEFORE,
    HPCB_PROGRESS_STOP = HPCB_PROGRESS_BEFORE + HPCB_PROGRESS_PARTS,
    HPCB_PROGRESS_SETTLED,
    HPCB_PROGRESS_GO,
    HPCB_PROGRESS_AGAIN,
    HPCB_PROGRESS_AFTER = HPCB_PROGRESS_AGAIN + HPCB_PROGRESS_PARTS,
    HPCB_PROGRESS_READINGS
};

/* Whether the reading lies between two parts.  Without these readings there is no
 * typical stop. */
bool hpcb_progress_is_between(unsigned reading);

/* All zero: no comparison yet.  Owned by the caller. */
typedef struct {
    hpcb_harm_t harm[HPCB_PROGRESS_SOURCES];
    unsigned misses[HPCB_PROGRESS_SOURCES]; /* in a row */
    /* The most that guests can have cost in each comparison of run delay and of
     * instructions, as in hpcb_harm_t; NAN: not known. */
    double most[HPCB_PROGRESS_ITERATIONS][HPCB_HARM_COMPARISONS];
    hpcb_typical_t typical[HPCB_PROGRESS_ITERATIONS];
} hpcb_progress_t;

/* Drop all comparisons. */
void hpcb_progress_clear(hpcb_progress_t *progress);

/* Add an experiment, unless the job hardly wanted CPUs during it. */
void hpcb_progress_add(hpcb_progress_t *progress,
                       const hpcb_progress_at_t at[HPCB_PROGRESS_READINGS]);

typedef struct {
    /* The cost of guests and its source.  No figure is below the floors. */
    hpcb_harm_estimate_t found;
    hpcb_progress_source_t source;
    /* The cost is at least that: found.low, or what typical stops prove by run delay or
     * instructions if that is more (policy/typical.h). */
    double least;
    /* The same by run delay and instructions alone; 0 without both. */
    double proven_low;
    /* Whether a source was ignored because its interval lies below the floor; the last
     * such source and its estimate. */
    bool doubts;
    hpcb_progress_source_t doubted;
    hpcb_harm_estimate_t claim;
} hpcb_progress_verdict_t;

/* Choose the best source that has most of the comparisons and is not below the floor.
 * Return false, with *out unchanged, if there are too few comparisons. */
bool hpcb_progress_judge(const hpcb_progress_t *progress, hpcb_progress_verdict_t *out);

/* Return what the guard goes by: found, with least for its lower end.  In the first
 * minutes the interval of the mean is wide. */
hpcb_harm_estimate_t hpcb_progress_evidence(const hpcb_progress_verdict_t *verdict);

/*
 * Return the highest level of the guard for this verdict: all of them if the floor is
 * above max_slowdown (a part of the run time), else a quarter of the guests' time, so
 * that a status page alone cannot stop or requeue guests or record bad company.
 */
hpcb_guard_level_t hpcb_progress_most(const hpcb_progress_verdict_t *verdict,
                                      double max_slowdown);

#endif
