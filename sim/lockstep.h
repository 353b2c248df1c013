/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A bulk-synchronous job of one process a node, under detours, from two nodes to a
 * million (Jones 2009, figures 5 to 9).
 *
 * An operation is work_ns of CPU time on every node, then all go on together when the
 * last one is there.  What a node does to the others is decided by its detours alone,
 * so the cost is that of detours, O(log nodes) each; operations that meet none are
 * jumped over.
 */
#ifndef HPCB_SIM_LOCKSTEP_H
#define HPCB_SIM_LOCKSTEP_H

#include "common/error.h"
#include "sim/detour.h"
#include "sim/progress.h"

typedef struct {
    int64_t work_ns;    /* of an operation on each node, its messages included */
    int64_t operations; /* the job ends after so many */
    int64_t limit_ns;   /* or at the first that ends then or later */
    uint32_t nodes;
    hpcb_sim_noise_t *noise; /* noises of them on each node */
    unsigned noises;
    hpcb_sim_dist_t clock_offset;
    bool sleeps;       /* in waits, so that a guest with a guard has that time */
    double lost;       /* the chance that a node's message is lost in an operation */
    int64_t resend_ns; /* what that costs */
    uint32_t dead;     /* nodes that die at dead_ns ... */
    int64_t dead_ns;
    int64_t detect_ns; /* ... which the others learn so much later, and go on */
} hpcb_sim_job_t;

typedef struct {
    int64_t operations, elapsed_ns, shortest_ns, longest_ns;
    uint64_t detours; /* that held an operation up or came while nodes waited */
} hpcb_sim_lockstep_t;

/* 0, or -1 with err: no memory.  job->nodes x job->noises at most 2^31. */
int hpcb_sim_lockstep(const hpcb_sim_job_t *job, uint64_t seed,
                      hpcb_sim_progress_t *progress, hpcb_sim_lockstep_t *result,
                      hpcb_error_t *err);

/*
 * The same work without synchronisation, on each node for itself: the part of the time
 * that its CPU is the job's, in the mean over the nodes (irregular jobs, whose work
 * goes to whoever is free) and the mean of its reciprocal (sequential jobs, one a
 * node).
 */
typedef struct {
    double share;    /* 0 ... 1 */
    double slowdown; /* 1 ... */
} hpcb_sim_apart_t;

hpcb_sim_apart_t hpcb_sim_apart(const hpcb_sim_job_t *job, uint64_t seed,
                                hpcb_sim_progress_t *progress);

#endif
