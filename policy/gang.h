/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Election of the jobs that run in the next quantum on a node with more jobs than CPUs:
 * MemBUS (Koukis and Koziris, "Memory and Network Bandwidth Aware Scheduling of
 * Multiprogrammed Workloads on Clusters of SMPs", section 4, algorithms 1 and 2) for
 * jobs that Slurm has bound to CPUs.  Pure: the caller owns the memory, takes the
 * samples, announces each quantum, and stops and starts jobs.
 *
 * In the paper any process runs on any CPU.  Here a job has its own CPUs and may share
 * them with other jobs.  Two jobs can run together if they have no CPU in common.
 *
 * Every election guarantees:
 *  - No two elected jobs have a CPU in common.
 *  - A job is elected if all its CPUs are free, so that no CPU stays idle that a job
 *    could use.
 *  - An elected job moves to the end of the list.  If none of the n jobs of a node has
 *    other nodes, the first one in the list runs, so that each job runs at least once
 *    in n quanta.  Otherwise each job runs at least once in 2d + n - 1 quanta if a CPU
 *    has up to d jobs, or in 2c + n - 1 if the longest dealt cycle c is longer.
 *  - The same input gives the same output.
 */
#ifndef HPCB_POLICY_GANG_H
#define HPCB_POLICY_GANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/cpus.h"
#include "policy/fitness.h"

/* Maximum number of jobs on one node, and of quanta for one prediction. */
#define HPCB_GANG_JOBS_MAX   256
#define HPCB_GANG_WINDOW_MAX 16

typedef struct {
    uint32_t job_id;
    uint32_t of_job;  /* the same for all components of a heterogeneous job; 0: none */
    hpcb_cpus_t cpus; /* empty: the job takes part in no election */
    bool paused;      /* the job is not elected */
    bool wide;        /* the job has other nodes, too */
    bool mem_known, net_known; /* samples are valid; otherwise they count as 0 */
    /* For a wide job: it owns the quanta whose number modulo cycle is slot
     * (policy/deal.h).  cycle 0: they follow from its job ID. */
    unsigned cycle, slot;
    /* Internal state of the policy. */
    bool runs;       /* elected for the present quantum */
    uint32_t waited; /* quanta since it last ran, or since it was added */
    uint64_t turns;  /* number of quanta for which it was elected */
    unsigned n_samples;
    hpcb_fit_sample_t samples[HPCB_GANG_WINDOW_MAX]; /* of its quanta, latest first */
} hpcb_gang_job_t;

/* All zero except window: empty. */
typedef struct {
    unsigned window; /* w: up to HPCB_GANG_WINDOW_MAX; 0: bandwidth is ignored */
    size_t count;
    hpcb_gang_job_t *list[HPCB_GANG_JOBS_MAX]; /* longest waiting job first */
} hpcb_gang_t;

/* Add job, which must not move in memory, to the end of the list.  Return false if the
 * list is full. */
bool hpcb_gang_add(hpcb_gang_t *gang, hpcb_gang_job_t *job);
void hpcb_gang_remove(hpcb_gang_t *gang, const hpcb_gang_job_t *job);

/* Add the traffic of the job in a quantum in which it ran. */
void hpcb_gang_sample(hpcb_gang_job_t *job, const hpcb_fit_sample_t *sample);

/* Return the predicted bandwidth of the job in the next quantum, from the last w
 * samples; 0 if it has never run. */
hpcb_bw_t hpcb_gang_predict(const hpcb_gang_t *gang, const hpcb_gang_job_t *job);

/*
 * Return the capacity of the node for an election.  An axis is 0 (not known) if it is
 * not measured for one of the jobs that take part: such a job would otherwise count as
 * one that needs nothing, which fits worst of all.  Jobs that have never run are
 * ignored here.
 */
hpcb_bw_t hpcb_gang_capacity(const hpcb_gang_t *gang, const hpcb_bw_t *node);

/* Return whether an election is necessary: two jobs have a CPU in common, or one is
 * paused. */
bool hpcb_gang_contends(const hpcb_gang_t *gang);

/*
 * Algorithm 2: write selected[i] for each job of the list.
 *
 * A job of several nodes owns one quantum of each cycle and is elected first in it.  If
 * a CPU has up to d jobs, a cycle is d to 2d quanta, a power of two.  The job ID and
 * the number of the quantum determine which one it is, so that all nodes of the job
 * choose the same quantum without a message, unless another job owns it on one of
 * them.  A node with shorter cycles than another node of the job elects the job in more
 * quanta than that one.  Jobs with consecutive IDs mostly own different quanta.  Groups
 * of IDs shift against each other by one quantum or a few, each ID after it has owned
 * one and at most once in 256 quanta, so that no two jobs own the same quanta forever.
 * A job that shares its quanta with no other still has one in each cycle (of up to 128
 * quanta).  If two jobs own the same quantum, a random choice that is the same on all
 * nodes decides.  Jobs of one node are first in quanta without an owner.
 *
 * A job that has waited for 2d - 1 quanta is elected before all others; of several, the
 * longest waiting one.  So no job of one node starves between wide jobs that own all
 * quanta.  This is rare otherwise, because it would keep nodes out of step.  It bounds
 * the wait on one node.  A turn on all nodes at once is not guaranteed, as one of them
 * may owe the quantum to a job that has waited.
 *
 * Quanta of a deal take precedence over quanta that follow from the ID of another job.
 * A job of a deal is elected before all others once it has waited for two cycles of the
 * deal.  A node with no deal or another one still elects; in the worst case the job's
 * nodes have no quantum in common.
 *
 * capacity is that of the node for these jobs (hpcb_gang_capacity); 0: not known, then
 * the use of that axis is spread over the quanta.  O(count * count), at most
 * HPCB_GANG_JOBS_MAX squared.
 */
void hpcb_gang_select(const hpcb_gang_t *gang, const hpcb_bw_t *capacity,
                      uint64_t quantum, bool *selected);

/* Return the slot of a job of several nodes without a deal: it owns the quanta whose
 * number modulo cycle (a power of two up to 128) is that slot.  owner: of_job, or
 * job_id if that is 0.  quantum: the number of the quantum in question; the slot
 * changes at most once in 256 quanta. */
unsigned hpcb_gang_slot(uint32_t owner, uint64_t quantum, unsigned cycle);

/* Begin a quantum in which the jobs with run[i] run (algorithm 1, lines 3 to 6). */
void hpcb_gang_begin(hpcb_gang_t *gang, const bool *run);

/* Begin a quantum without an election: all jobs run that are not paused. */
void hpcb_gang_rest(hpcb_gang_t *gang);

#endif
