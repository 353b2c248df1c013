/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * History of a site: the jobs of a trace in the Standard Workload Format, or of an
 * export of sacct --parsable2.
 *
 * A line that is no job, or is invalid in its format, is skipped and counted; the first
 * of each kind is reported with its number.  Values that a trace does not have (CPU
 * time, memory, limit) stay unknown until hpcb_sim_history_assume.
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

/* BY_CHANCE: only our records tell guests from primaries. */
typedef enum { HPCB_SIM_BY_CHANCE, HPCB_SIM_PRIMARY, HPCB_SIM_GUEST } hpcb_sim_class_t;

/* Times in seconds, memory in KiB for the whole job. */
typedef struct {
    int64_t submit, begin, run, limit;
    int64_t memory_asked, memory_used;
    uint32_t cpus;
    float load;       /* CPU time / (cpus x run), 0 ... 1 */
    uint8_t kind;     /* hpcb_sim_class_t */
    bool limit_known; /* false: the limit is assumed, and ends no job */
    bool limited;     /* it reached its limit, and would at any speed */
} hpcb_sim_past_t;

typedef enum {
    HPCB_SIM_CUT,       /* too few or too many fields */
    HPCB_SIM_NO_NUMBER, /* a field that should be a number, a time, a size */
    HPCB_SIM_NEGATIVE,  /* or impossible */
    HPCB_SIM_DID_NOT_RUN,
    HPCB_SIM_NOT_ENDED,
    HPCB_SIM_RUN_AGAIN, /* an earlier run of a job that was requeued */
    HPCB_SIM_OUTSIDE,   /* outside of the requested time */
    HPCB_SIM_TOO_LARGE, /* more CPUs or memory than the cluster has */
    HPCB_SIM_REASONS
} hpcb_sim_reason_t;

typedef struct {
    hpcb_sim_past_t *job; /* sorted by submission after hpcb_sim_history_sort */
    size_t n, room;
    uint64_t lines;
    uint64_t passed_over[HPCB_SIM_REASONS];
    uint64_t first_line[HPCB_SIM_REASONS];
    char first_text[HPCB_SIM_REASONS][64]; /* the invalid text */
    uint64_t unsorted;                     /* jobs submitted before their predecessor */
} hpcb_sim_history_t;

const char *hpcb_sim_reason_name(hpcb_sim_reason_t reason);

/* Add the jobs of stream to history, initially all zero.  Return 0, or -1 with err if
 * it cannot be read, is no such file, or has too many jobs.  Free history in any
 * case. */
int hpcb_sim_read_swf(FILE *stream, hpcb_sim_history_t *history, hpcb_error_t *err);
int hpcb_sim_read_sacct(FILE *stream, hpcb_sim_history_t *history, hpcb_error_t *err);

/* For the readers. */
int hpcb_sim_history_add(hpcb_sim_history_t *history, const hpcb_sim_past_t *job,
                         hpcb_error_t *err);
void hpcb_sim_pass_over(hpcb_sim_history_t *history, hpcb_sim_reason_t reason,
                        const char *text);

/* Sort by submission; jobs of the same second keep their order.  Return 0, or -1 with
 * err. */
int hpcb_sim_history_sort(hpcb_sim_history_t *history, hpcb_error_t *err);

/* Numbers of jobs with assumed values. */
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
 * Set unknown values by seed and index of the job: the load is one of those of six
 * applications (Stiehr 2004, table 3-2); requested memory is 50 to 100 % of the CPUs'
 * part of a node's, or used memory if that is more; used memory is what was requested,
 * so that no memory is lent by assumption; the limit is one to five times the run time
 * (the f-model of Mu'alem and Feitelson 2001), for backfill only.  Skips jobs that do
 * not fit on an empty cluster.
 */
hpcb_sim_assumed_t hpcb_sim_history_assume(hpcb_sim_history_t *history, uint64_t seed,
                                           const hpcb_sim_shape_t *shape);

/*
 * Keep the part of each job between two times (seconds), like sacct --truncate: a job
 * that began earlier begins at from, one that ended later ends at to.  Jobs that did
 * not run in between are skipped.  A job with an unknown begin is assumed to have begun
 * at its submission.  Sort the history afterwards.
 */
void hpcb_sim_history_clip(hpcb_sim_history_t *history, int64_t from, int64_t to);

void hpcb_sim_history_free(hpcb_sim_history_t *history);

#endif
