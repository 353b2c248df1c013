/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A bulk-synchronous job with one process per node, under detours, from two nodes to a
 * million (Jones 2009, figures 5 to 9).
 *
 * An operation is work_ns of CPU time on every node; all continue together when the
 * last one has finished.  Only detours make nodes differ, so the cost is that of
 * detours, O(log nodes) each; operations without one are skipped.
 */
#ifndef HPCB_SIM_LOCKSTEP_H
#define HPCB_SIM_LOCKSTEP_H

#include "common/error.h"
#include "sim/detour.h"
#include "sim/progress.h"

typedef struct {
    int64_t work_ns;    /* per operation and node, including its messages */
    int64_t operations; /* length of the job */
    int64_t limit_ns;   /* or the first operation that ends at this time or later */
    uint32_t nodes;
    hpcb_sim_noise_t *noise; /* `noises` entries: those of each node */
    unsigned noises;
    hpcb_sim_dist_t clock_offset;
    bool sleeps;       /* in waits, so that a guest with a guard gets that time */
    double lost;       /* probability that a node's message is lost in an operation */
    int64_t resend_ns; /* cost of that */
    uint32_t dead;     /* number of nodes that die at dead_ns ... */
    int64_t dead_ns;
    int64_t detect_ns; /* ... which the others detect so much later, and continue */
} hpcb_sim_job_t;

typedef struct {
    int64_t operations, elapsed_ns, shortest_ns, longest_ns;
    uint64_t detours; /* that delayed an operation or occurred while nodes waited */
} hpcb_sim_lockstep_t;

/* Return 0, or -1 with err if memory is short.  job->nodes x job->noises must be at
 * most 2^31. */
int hpcb_sim_lockstep(const hpcb_sim_job_t *job, uint64_t seed,
                      hpcb_sim_progress_t *progress, hpcb_sim_lockstep_t *result,
                      hpcb_error_t *err);

/*
 * The same work without synchronization, on each node by itself: part of the time for
 * which the job has the CPU, mean over the nodes (irregular jobs, whose work goes to
 * any free node) and mean of its reciprocal (sequential jobs, one per node).
 */
typedef struct {
    double share;    /* 0 ... 1 */
    double slowdown; /* 1 ... */
} hpcb_sim_apart_t;

hpcb_sim_apart_t hpcb_sim_apart(const hpcb_sim_job_t *job, uint64_t seed,
                                hpcb_sim_progress_t *progress);

#endif
