/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Who runs in the next quantum where more jobs than CPUs are on a node: MemBUS (Koukis
 * and Koziris, "Memory and Network Bandwidth Aware Scheduling of Multiprogrammed
 * Workloads on Clusters of SMPs", section 4, algorithms 1 and 2) for jobs that Slurm
 * has bound to CPUs.  Pure: the caller owns the memory, takes the samples, tells when a
 * quantum begins, and stops and starts jobs.
 *
 * The paper lets any process run on any CPU.  Here a job has CPUs of its own, which it
 * may share with others: two jobs fit together if they have no CPU in common.
 *
 * What holds for every election:
 *  - no two elected jobs have a CPU in common;
 *  - a job of which all CPUs are free is elected: none stays unused that one could use;
 *  - who runs goes to the end of the list.  If all of the n jobs of the node are of
 * this node alone, the first in the list runs: each of them runs at least once in n
 *    quanta.  If there are jobs of several nodes, it does so in 2d + n - 1, where a CPU
 *    has up to d jobs, or in 2c + n - 1 if the longest cycle that was dealt is c and
 *    more than d;
 *  - the same input gives the same output.
 */
#ifndef HPCB_POLICY_GANG_H
#define HPCB_POLICY_GANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/cpus.h"
#include "policy/fitness.h"

/* Jobs that take turns on one node, and quanta that a prediction may rest on. */
#define HPCB_GANG_JOBS_MAX   256
#define HPCB_GANG_WINDOW_MAX 16

typedef struct {
    uint32_t job_id;
    uint32_t of_job;  /* components of a heterogeneous job have the same; 0: none */
    hpcb_cpus_t cpus; /* empty: it takes part in no election */
    bool paused;      /* it is not elected */
    bool wide;        /* it runs on other nodes, too */
    bool mem_known, net_known; /* samples have a figure, not a gap that counts as 0 */
    /* Of a wide job: the quanta that it owns have been dealt (policy/deal.h), their
     * number is slot modulo cycle; cycle 0: they follow from its id. */
    unsigned cycle, slot;
    /* What follows is the policy's. */
    bool runs;       /* elected for the quantum under way */
    uint32_t waited; /* quanta since it ran last, or since it came */
    uint64_t turns;  /* quanta for which it was elected */
    unsigned n_samples;
    hpcb_fit_sample_t samples[HPCB_GANG_WINDOW_MAX]; /* of quanta in which it ran, the
                                                        latest first */
} hpcb_gang_job_t;

/* All zero but for window: nobody. */
typedef struct {
    unsigned window; /* w: up to HPCB_GANG_WINDOW_MAX; 0: bandwidth does not count */
    size_t count;
    hpcb_gang_job_t *list[HPCB_GANG_JOBS_MAX]; /* who has waited longest is the first */
} hpcb_gang_t;

/* Put job, which must stay where it is, at the end of the list.  Return false if the
 * list is full. */
bool hpcb_gang_add(hpcb_gang_t *gang, hpcb_gang_job_t *job);
void hpcb_gang_remove(hpcb_gang_t *gang, const hpcb_gang_job_t *job);

/* What the job moved in a quantum in which it ran. */
void hpcb_gang_sample(hpcb_gang_job_t *job, const hpcb_fit_sample_t *sample);

/* What it will move in the next, from the last w samples; 0 if it has never run. */
hpcb_bw_t hpcb_gang_predict(const hpcb_gang_t *gang, const hpcb_gang_job_t *job);

/*
 * What of the node's capacity an election can be told: an axis counts as not known (0)
 * if it is not measured for one of the jobs that take part.  Beside figures of others a
 * gap would pass for a job that needs nothing, which fits worst of all.  A job that has
 * never run says nothing of its sensors.
 */
hpcb_bw_t hpcb_gang_capacity(const hpcb_gang_t *gang, const hpcb_bw_t *node);

/* Whether two jobs have a CPU in common, or one is paused: else there is nothing to
 * elect. */
bool hpcb_gang_contends(const hpcb_gang_t *gang);

/*
 * Algorithm 2: selected[i] is written for each of the list.
 *
 * A job of several nodes owns one quantum of each cycle, in which it goes before the
 * others.  If a CPU has up to d jobs, a cycle is d to 2d quanta, a power of two.  Which
 * one follows from the job's id and the number of the quantum, so that all its nodes
 * give it that quantum without a message, unless another job owns it on one of them.
 * Where a node has shorter cycles than another of the job's, it gives it more quanta,
 * which the other one does not.  Jobs whose ids are next to each other mostly own
 * different ones.  So that no two own the same one for good, groups of ids move against
 * each other by a quantum or a few, each id when it has just owned one, once in 256
 * quanta at most: who shares its quanta with nobody has one within each cycle (of up to
 * 128 quanta) also then.  Of two that own the same quantum one has it by chance, the
 * same one on all nodes.  Quanta that nobody owns belong to the jobs of one node first.
 *
 * A job that has waited for 2d - 1 quanta goes before all, of several the one that has
 * waited longest, so that no job of one node starves between several that own all
 * quanta; seldom else, because nodes that are out of step would stay so.  That bounds
 * what a job waits on one node; a turn on all of its nodes at once is not promised to
 * it, as one of them may owe the quantum to a job that has waited.
 *
 * If a deal says which quanta a job owns, that counts instead, and before what follows
 * from the id of another.  Such a job waits for two cycles of the deal before it goes
 * before all.  A node without a deal, or with another one, elects as ever: at worst the
 * job's nodes have no turn of it in common.
 *
 * capacity is what the node has for these jobs (hpcb_gang_capacity); 0: not known, then
 * that axis is spread over the quanta.  O(count * count), which is at most
 * HPCB_GANG_JOBS_MAX squared.
 */
void hpcb_gang_select(const hpcb_gang_t *gang, const hpcb_bw_t *capacity,
                      uint64_t quantum, bool *selected);

/* Without a deal a job of several nodes owns the quanta whose number is this modulo
 * cycle, a power of two up to 128.  owner: its of_job, or else its job_id.  quantum:
 * the one from which on it is asked for; it changes once in 256 quanta at most. */
unsigned hpcb_gang_slot(uint32_t owner, uint64_t quantum, unsigned cycle);

/* A quantum begins in which run[i] of the list run (algorithm 1, lines 3 to 6). */
void hpcb_gang_begin(hpcb_gang_t *gang, const bool *run);

/* Nothing is elected: all run that are not paused. */
void hpcb_gang_rest(hpcb_gang_t *gang);

#endif
