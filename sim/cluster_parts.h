/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The parts of sim/cluster.c: who holds what on which node, and who runs how fast. */
#ifndef HPCB_SIM_CLUSTER_PARTS_H
#define HPCB_SIM_CLUSTER_PARTS_H

#include "policy/memguard.h"
#include "sim/cluster.h"
#include "sim/heap.h"
#include "sim/plan.h"
#include "sim/shelves.h"

#define HPCB_SIM_SECOND INT64_C(1000000000)

/* A job's share of a node, in the node's list and the job's. */
typedef struct {
    uint32_t job, node, cpus;
    uint32_t next_here, prev_here; /* on this node, of primaries or of guests */
    uint32_t next_of_job;          /* or of the free list */
    int64_t promised, used;        /* KiB; what it has asked for and what it needs */
    int64_t expected;              /* KiB, by policy/lend */
} hpcb_sim_part_t;

typedef struct {
    uint32_t free;       /* CPUs that no primary holds */
    uint32_t guest_cpus; /* CPUs that guests hold */
    double load,
        guest_load; /* CPUs that primaries and guests would use at full speed */
    int64_t promised, used, expected,
        guest_memory;           /* KiB; guests: what they asked for */
    uint32_t primaries, guests; /* parts, the latest first */
    bool slows;                 /* guests here slow primaries here */
} hpcb_sim_node_t;

typedef struct {
    int64_t start_ns, since_ns;
    double left_ns, rate; /* of its work; how fast that goes since then */
    uint32_t version;     /* of its event in the heap */
    uint32_t parts;
    uint32_t slowed;     /* on so many of its nodes */
    uint32_t next, prev; /* in its queue */
} hpcb_sim_running_t;

typedef struct {
    uint32_t first, last;
} hpcb_sim_queue_t;

typedef struct {
    const hpcb_sim_cluster_t *conf;
    const hpcb_sim_history_t *history;
    hpcb_sim_regime_t regime;
    int64_t now_ns;
    hpcb_sim_heap_t heap;
    hpcb_sim_node_t *node;
    hpcb_sim_running_t *run;
    hpcb_sim_part_t *part;
    uint32_t part_n, part_room, part_free;
    hpcb_sim_shelves_t by_free, by_idle;
    hpcb_memguest_t *guest_at; /* of one node, while it is decided who has to go */
    uint64_t reserve;          /* bytes a node that are not lent */
    hpcb_sim_plan_t plan;
    uint64_t free_cpus;
    hpcb_sim_queue_t primaries, guests; /* that wait */
    bool no_memory;                     /* something is missing: the run is void */
    bool guests_changed;                /* since the first of them was tried */
    bool guests_wait;                   /* and those behind it have not been since */
    bool tick;
    int64_t next_backfill_ns;
    uint64_t started;
    uint64_t evictions;
} hpcb_sim_state_t;

bool hpcb_sim_overlaid(const hpcb_sim_state_t *state, uint32_t job);

/* Start a job on free CPUs of the cluster: they must be enough. */
void hpcb_sim_start_primary(hpcb_sim_state_t *state, uint32_t job);

/* Start a guest where most is idle; whether there is a place for it. */
bool hpcb_sim_start_guest(hpcb_sim_state_t *state, uint32_t job);

/* The job has ended, or was evicted: it holds nothing any more. */
void hpcb_sim_release(hpcb_sim_state_t *state, uint32_t job);

void hpcb_sim_enqueue_first(hpcb_sim_state_t *state, hpcb_sim_queue_t *queue,
                            uint32_t job);

#endif
