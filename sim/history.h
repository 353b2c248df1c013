/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A site's history: the jobs of a trace in the Standard Workload Format, or of an
 * export of sacct --parsable2.
 *
 * A line that is no job, or is not what its format says, is passed over and counted;
 * the first of each kind is told with its number.  What a trace does not say of a job
 * (CPU time, memory, limit) stays unknown until hpcb_sim_history_assume.
 */
#ifndef HPCB_SIM_HISTORY_H
#define HPCB_SIM_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

#define HPCB_SIM_UNKNOWN  (-1)
#define HPCB_SIM_JOBS_MAX 100000000
#define HPCB_SIM_CPUS_MAX (1 << 24)
#define HPCB_SIM_TIME_MAX (INT64_C(1) << 33) /* seconds: the year 2242 */
#define HPCB_SIM_RUN_MAX  (INT64_C(1) << 27) /* seconds: four years */

/* By chance: no history but our records says who was a guest. */
typedef enum { HPCB_SIM_BY_CHANCE, HPCB_SIM_PRIMARY, HPCB_SIM_GUEST } hpcb_sim_class_t;

/* Times in seconds, memory in KiB of the whole job. */
typedef struct {
    int64_t submit, begin, run, limit;
    int64_t memory_asked, memory_used;
    uint32_t cpus;
    float load;       /* CPU time by cpus x run, 0 ... 1 */
    uint8_t kind;     /* hpcb_sim_class_t */
    bool limit_known; /* else the limit is assumed, and ends no job */
    bool limited;     /* it ran into its limit, and would again at any speed */
} hpcb_sim_past_t;

typedef enum {
    HPCB_SIM_CUT,       /* too few or too many fields */
    HPCB_SIM_NO_NUMBER, /* a field that should be a number, a time, a size */
    HPCB_SIM_NEGATIVE,  /* or beyond all sense */
    HPCB_SIM_DID_NOT_RUN,
    HPCB_SIM_NOT_ENDED,
    HPCB_SIM_RUN_AGAIN, /* a run of a job that was requeued and ran again */
    HPCB_SIM_OUTSIDE,   /* of the time that is asked for */
    HPCB_SIM_TOO_LARGE, /* more CPUs or memory than the cluster has */
    HPCB_SIM_REASONS
} hpcb_sim_reason_t;

typedef struct {
    hpcb_sim_past_t *job; /* by submission, after hpcb_sim_history_sort */
    size_t n, room;
    uint64_t lines;
    uint64_t passed_over[HPCB_SIM_REASONS];
    uint64_t first_line[HPCB_SIM_REASONS];
    char first_text[HPCB_SIM_REASONS][64]; /* what was wrong there */
    uint64_t unsorted; /* jobs that were submitted before the one above */
} hpcb_sim_history_t;

const char *hpcb_sim_reason_name(hpcb_sim_reason_t reason);

/* Add what stream holds to history, all zero before.  0, or -1 with err: it cannot be
 * read, is no such file at all, or has too many jobs.  Free history in any case. */
int hpcb_sim_read_swf(FILE *stream, hpcb_sim_history_t *history, hpcb_error_t *err);
int hpcb_sim_read_sacct(FILE *stream, hpcb_sim_history_t *history, hpcb_error_t *err);

/* For the readers. */
int hpcb_sim_history_add(hpcb_sim_history_t *history, const hpcb_sim_past_t *job,
                         hpcb_error_t *err);
void hpcb_sim_pass_over(hpcb_sim_history_t *history, hpcb_sim_reason_t reason,
                        const char *text);

/* By submission; jobs of the same second stay in their order.  0, or -1 with err. */
int hpcb_sim_history_sort(hpcb_sim_history_t *history, hpcb_error_t *err);

/* Jobs that had to be assumed something. */
typedef struct {
    uint64_t load, memory_asked, memory_used, limit;
} hpcb_sim_assumed_t;

/* Nodes of a cluster, all alike; memory in KiB of each. */
typedef struct {
    uint64_t nodes;
    uint32_t cpus;
    int64_t memory;
} hpcb_sim_shape_t;

/*
 * Fill in what is unknown, by seed and the job's place: the load is one of those of the
 * thesis' six applications (Stiehr 2004, table 3-2); asked memory 50 to 100 % of the
 * CPUs' part of a node's, or what was used if that is more; used memory all that was
 * asked for, so that nothing is lent on a guess; the limit one to five times the
 * running time (the f-model of Mu'alem and Feitelson 2001), for backfill only.  Passes
 * over jobs that have no place on an empty cluster.
 */
hpcb_sim_assumed_t hpcb_sim_history_assume(hpcb_sim_history_t *history, uint64_t seed,
                                           const hpcb_sim_shape_t *shape);

/*
 * Keep of each job what was between two moments (seconds), as sacct --truncate does:
 * one that began before begins with from, one that ended after ends with to.  Jobs that
 * did not run in between are passed over.  A job whose begin nobody knows is taken to
 * have begun when it was submitted.  Sort it afterwards.
 */
void hpcb_sim_history_clip(hpcb_sim_history_t *history, int64_t from, int64_t to);

void hpcb_sim_history_free(hpcb_sim_history_t *history);

#endif
