/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A cluster that runs a history: primaries in the order of their submission, where CPUs
 * and memory are free for them, with backfill behind the first that waits (EASY, by
 * their time limits); guests, where a regime has them, behind them in a queue of their
 * own over the same CPUs, one node each, where most is idle.
 *
 *   dedicated      no guests: all jobs stand in the one queue
 *   nice           stock Slurm: a guest that has no free CPU shares a primary's, and
 *                  slows it; a primary waits for memory that a guest holds
 *   guests         a guest gets what primaries leave of their CPUs, and memory that is
 *                  promised to nobody; it is requeued if a primary needs that
 *   guests_memory  the same, and memory that primaries asked for and do not use:
 *                  policy/lend says how much, with hpcbd's default reserve and programs
 *                  that are known; policy/memguard which guests end when a primary
 *                  uses it
 *
 * A job's work is its running time in the history; a primary beside whose tasks guests
 * run is slower by a factor of the regime, on all of its nodes, as the slowest one
 * holds up a parallel job.  A job that has not done its work when its time limit is
 * over ends there, as in Slurm, if the history says what its limit was.  In the regimes
 * of ours guests that get next to nothing are stopped and requeued by policy/guard, and
 * those that would slow primaries too much run for a part of their time next to them. A
 * guest that is requeued begins again.
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
    uint32_t nodes, cpus; /* nodes of so many CPUs, all alike */
    int64_t memory;       /* KiB a node */
    double nice_share;   /* of a CPU that a guest of regime nice has beside a primary */
    double guest_cost;   /* by which part a primary is slower beside our guests, if
                            nothing restricts these */
    double max_slowdown; /* GuestMaxSlowdown; 0: nothing restricts them */
    double guest_part;   /* of the jobs that fit on a node, those that are guests */
    double guest_limit;  /* guests' time limits by those in the history */
    bool no_requeue;     /* a guest that has to go is cancelled */
    uint64_t seed;       /* which jobs are guests */
    int64_t from, to; /* seconds: the window that rates are of; equal: until the end */
} hpcb_sim_cluster_t;

/* CPU time is that of jobs that ended as they should. */
typedef struct {
    uint64_t jobs, guests;       /* that ended as they should */
    double period_s, makespan_s; /* of the window; until the last end */
    /* In the window; of what primaries held, what they did not use. */
    double cpu_seconds, guest_cpu_seconds, left_idle_cpu_seconds;
    double throughput_jobs_per_hour;
    double efficiency; /* CPU time by CPUs x period */
    /* Of all jobs, until the last has ended. */
    double lost_cpu_seconds; /* of runs that were requeued, cancelled or timed out */
    /* Dedicated, too, tells apart those that are guests in the other regimes. */
    double turnaround_mean_s, primary_turnaround_mean_s, guest_turnaround_mean_s;
    double primary_slowdown_mean; /* running time by that in the history */
    uint64_t evictions, starved;  /* guests that were requeued; of them by the guard */
    uint64_t cancelled, timeouts, guest_timeouts;
} hpcb_sim_figures_t;

/* Run history, which is sorted and complete.  0, or -1 with err: no memory. */
int hpcb_sim_cluster(const hpcb_sim_cluster_t *cluster, hpcb_sim_regime_t regime,
                     const hpcb_sim_history_t *history, hpcb_sim_progress_t *progress,
                     hpcb_sim_figures_t *figures, hpcb_error_t *err);

/* For which part of the time guests run on nodes of primaries in the regimes of ours.
 */
double hpcb_sim_guest_time(const hpcb_sim_cluster_t *cluster);

/* Whether the job at that place is a guest, in regimes that have them. */
bool hpcb_sim_is_guest(const hpcb_sim_cluster_t *cluster,
                       const hpcb_sim_history_t *history, size_t job);

#endif
