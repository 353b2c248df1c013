/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * --bw-spread: fewer tasks a node for a job that would saturate the memory of its nodes
 * (paper 002, section 4: 2N×1 instead of N×2; there CG ran 91 % faster).  Pure.
 *
 * All tasks are assumed to need the same memory bandwidth.  A packed node has as many
 * tasks as the scheduler places there without the option.  Its demand is that of
 * --bw-profile, or learned from earlier runs.
 */
#ifndef HPCB_POLICY_SPREAD_H
#define HPCB_POLICY_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Percent of a node's bandwidth that its tasks may use together. */
#define HPCB_SPREAD_FULL 90

typedef struct {
    uint32_t tasks;     /* of the job; 0: not known */
    uint32_t packed;    /* tasks of a packed node; 0: not known */
    uint32_t nodes_max; /* that the job may use */
    uint64_t demand;    /* of a packed node, bytes/s; 0: not known */
    /* The demand was measured.  If it saturates the node it is a lower bound; then at
     * most half of the packed tasks are placed on a node. */
    bool measured;
    uint64_t capacity; /* bandwidth of a node, bytes/s; 0: not known */
    bool laid_out;     /* the job sets its own tasks per node */
    bool vain;         /* it was offered more nodes before and did not start */
} hpcb_spread_job_t;

typedef enum {
    HPCB_SPREAD_YES,
    HPCB_SPREAD_NO_DEMAND,   /* demand is not known */
    HPCB_SPREAD_NO_CAPACITY, /* capacity is not known */
    HPCB_SPREAD_FITS,        /* packed tasks do not saturate a node */
    HPCB_SPREAD_NO_TASKS,    /* tasks or packed is not known */
    HPCB_SPREAD_ONE,         /* one task per packed node, or one task in all */
    HPCB_SPREAD_NO_NODES,    /* no more nodes are available */
    HPCB_SPREAD_LAID_OUT,    /* laid_out */
    HPCB_SPREAD_VAIN,        /* vain */
} hpcb_spread_verdict_t;

typedef struct {
    hpcb_spread_verdict_t verdict;
    /* With HPCB_SPREAD_YES: at most so many on each of so many nodes. */
    uint32_t tasks, nodes;
} hpcb_spread_t;

/* What limits the tasks of a node. */
typedef struct {
    uint32_t cpus;             /* of the node, without specialized ones */
    uint32_t threads;          /* of a core of the node; 0 counts as 1 */
    uint32_t cpus_per_task;    /* 0 counts as 1 */
    uint32_t threads_per_core; /* that the job uses; 0: all */
    uint32_t tasks_per_core;   /* that the job allows; 0: any */
    uint64_t memory;           /* of the node, MiB; 0: memory is not allocated */
    uint64_t memory_per_cpu;   /* of the job, MiB; 0: memory is not per CPU */
} hpcb_spread_limits_t;

/* Return the number of tasks that fit on such a node. */
uint32_t hpcb_spread_packed(const hpcb_spread_limits_t *limits);

/* Return the largest number of tasks per node, at least one, that does not saturate it,
 * with as many nodes as that takes and the job may use; on these, as few tasks per node
 * as possible (paper 002, section 4). */
hpcb_spread_t hpcb_spread_decide(const hpcb_spread_job_t *job);

/* Use about half of the nodes, because so many are not free.  Return false, with spread
 * unchanged, if that is no better than packed. */
bool hpcb_spread_less(const hpcb_spread_job_t *job, hpcb_spread_t *spread);

/* Return the demand of a node with that many tasks, bytes/s: job->demand if they are
 * packed, or if packed is not known. */
uint64_t hpcb_spread_demand(const hpcb_spread_job_t *job, uint32_t tasks);

#endif
