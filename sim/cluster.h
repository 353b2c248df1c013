/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A cluster that runs a history: primaries in the order of their submission, with
 * backfill behind the first that waits (EASY); guests, where a regime has them, in a
 * queue of their own over the same CPUs, one node each, where most is idle.
 *
 *   dedicated      no guests: all jobs stand in the one queue
 *   nice           a guest that has no free CPU shares a primary's, and slows it
 *   guests         a guest gets what primaries leave of their CPUs, and memory that is
 *                  promised to nobody
 *   guests_memory  the same, and memory that primaries asked for and do not use:
 *                  policy/lend says how much, with hpcbd's default reserve and programs
 *                  that are known; policy/memguard which guests end when a primary
 *                  uses it
 *
 * A job's work is its running time in the history; a primary beside whose tasks guests
 * run is slower by a factor of the regime, on all of its nodes, as the slowest one
 * holds up a parallel job.  A guest whose memory a primary needs is requeued and begins
 * again.
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
    double nice_share; /* of a CPU that a guest of regime nice has beside a primary */
    double guest_cost; /* by which part a primary is slower beside our guests */
    double guest_part; /* of the jobs that fit on a node, those that are guests */
    uint64_t seed;     /* which of them */
} hpcb_sim_cluster_t;

typedef struct {
    uint64_t jobs, guests;
    double period_s; /* from the first submission to the last end */
    double cpu_seconds, guest_cpu_seconds;
    double
        left_idle_cpu_seconds; /* of what primaries held, without their being slower */
    double throughput_jobs_per_hour;
    double efficiency; /* CPU time by CPUs x period */
    double turnaround_mean_s, primary_turnaround_mean_s, guest_turnaround_mean_s;
    double primary_slowdown_mean; /* running time by that in the history */
    uint64_t evictions;
} hpcb_sim_figures_t;

/* Run history, which is sorted and complete.  0, or -1 with err: no memory. */
int hpcb_sim_cluster(const hpcb_sim_cluster_t *cluster, hpcb_sim_regime_t regime,
                     const hpcb_sim_history_t *history, hpcb_sim_progress_t *progress,
                     hpcb_sim_figures_t *figures, hpcb_error_t *err);

/* Whether the job at that place is a guest, in regimes that have them. */
bool hpcb_sim_is_guest(const hpcb_sim_cluster_t *cluster,
                       const hpcb_sim_history_t *history, size_t job);

#endif
