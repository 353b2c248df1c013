/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A cluster that runs a history: primaries in the order of their submission, as CPUs
 * and memory become free, with backfill behind the first one that waits (EASY, by their
 * time limits); guests, if the regime has them, in a queue of their own with lower
 * priority over the same CPUs, on one node each, the one with the most idle CPU time.
 *
 *   dedicated      no guests: all jobs are in one queue
 *   nice           stock Slurm: a guest without a free CPU shares a primary's and slows
 *                  it down; a primary waits for memory that a guest has
 *   guests         a guest gets the CPU time that primaries leave, and memory that is
 *                  allocated to no job; it is requeued if a primary needs that
 *   guests_memory  the same, and memory that primaries requested and do not use:
 *                  policy/lend computes how much, with hpcbd's default reserve and
 *                  known programs; policy/memguard chooses the guests that end when a
 *                  primary uses it
 *
 * A job's work is its run time in the history.  A primary with guests on the CPUs of
 * its tasks is slower by a factor of the regime, on all of its nodes, because the
 * slowest one delays a parallel job.  A job that has not completed its work at its time
 * limit ends, as in Slurm, if the history has the limit.  In our regimes policy/guard
 * stops and requeues guests that get next to no CPU time, and limits the time of those
 * that would slow down primaries too much.  A requeued guest begins again.
 */
#ifndef HPCB_SIM_CLUSTER_H
#define HPCB_SIM_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "sim/history.h"
#include "sim/progress.h"

#define HPCB_SIM_NODES_MAX    (1 << 24)
#define HPCB_SIM_PER_NODE_MAX 4096

typedef enum {
    HPCB_SIM_DEDICATED,
    HPCB_SIM_NICE,
    HPCB_SIM_GUESTS,
    HPCB_SIM_GUESTS_MEMORY,
    HPCB_SIM_REGIMES
} hpcb_sim_regime_t;

typedef struct {
    uint32_t nodes, cpus; /* all nodes have so many CPUs */
    int64_t memory;       /* KiB per node */
    double nice_share;    /* part of a CPU that a guest of regime nice gets next to a
                             primary */
    double guest_cost; /* slowdown of a primary next to our guests without restrictions,
                          as a part */
    double max_slowdown; /* GuestMaxSlowdown; 0: no restriction */
    double guest_part;   /* part of the jobs that fit on one node that are guests */
    double guest_limit;  /* factor for guests' time limits */
    bool no_requeue;     /* guests are cancelled instead of requeued */
    uint64_t seed;       /* for the choice of guests */
    int64_t from, to;    /* seconds: window for rates; equal: until the end */
} hpcb_sim_cluster_t;

/* CPU time is that of successful jobs. */
typedef struct {
    uint64_t jobs, guests;       /* successful */
    double period_s, makespan_s; /* of the window; until the last end */
    /* In the window; left idle: by primaries of their allocation. */
    double cpu_seconds, guest_cpu_seconds, left_idle_cpu_seconds;
    double throughput_jobs_per_hour;
    double efficiency; /* CPU time / (CPUs x period) */
    /* Of all jobs, until the last has ended. */
    double lost_cpu_seconds; /* of runs that were requeued, cancelled or timed out */
    /* In dedicated, too, for the jobs that are guests in the other regimes. */
    double turnaround_mean_s, primary_turnaround_mean_s, guest_turnaround_mean_s;
    double primary_slowdown_mean; /* run time / that in the history */
    uint64_t evictions, starved;  /* requeued guests; by the guard of these */
    uint64_t cancelled, timeouts, guest_timeouts;
} hpcb_sim_figures_t;

/* Run history, which must be sorted and complete.  Return 0, or -1 with err if memory
 * is short. */
int hpcb_sim_cluster(const hpcb_sim_cluster_t *cluster, hpcb_sim_regime_t regime,
                     const hpcb_sim_history_t *history, hpcb_sim_progress_t *progress,
                     hpcb_sim_figures_t *figures, hpcb_error_t *err);

/* Return the part of the time for which guests run on nodes of primaries in our
 * regimes. */
double hpcb_sim_guest_time(const hpcb_sim_cluster_t *cluster);

/* Return whether the job with that index is a guest, in regimes that have them. */
bool hpcb_sim_is_guest(const hpcb_sim_cluster_t *cluster,
                       const hpcb_sim_history_t *history, size_t job);

#endif
