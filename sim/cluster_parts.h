/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The parts of sim/cluster.c: who holds what on which node, and who runs how fast. */
#ifndef HPCB_SIM_CLUSTER_PARTS_H
#define HPCB_SIM_CLUSTER_PARTS_H

#include "policy/guard.h"
#include "policy/memguard.h"
#include "sim/cluster.h"
#include "sim/heap.h"
#include "sim/places.h"
#include "sim/plan.h"
#include "sim/shelves.h"

#define HPCB_SIM_SECOND INT64_C(1000000000)
#define HPCB_SIM_KIB    1024
#define HPCB_SIM_NEVER  INT64_MAX

/* Of a guest, as hpcbd's guard of crumbs sees it (policy/guard). */
typedef struct {
    hpcb_crumbs_t crumbs;
    double share; /* of its CPUs, since the last step: what it used, or, while it is
                     stopped, what was idle */
    bool wants;   /* it was ready to run for more */
    int64_t check_ns;
} hpcb_sim_guarded_t;

/* A job's share of a node, in the node's list and the job's. */
typedef struct {
    uint32_t job, node, cpus;
    uint32_t next_here, prev_here; /* on this node, of primaries or of guests */
    uint32_t next_of_job;          /* or of the free list */
    int64_t promised, used;        /* KiB; what it has asked for and what it needs */
    int64_t expected;              /* KiB, by policy/lend */
    hpcb_sim_guarded_t guarded;    /* of a guest */
} hpcb_sim_part_t;

typedef struct {
    uint32_t free;           /* CPUs that no primary holds */
    uint32_t guest_cpus;     /* CPUs that guests hold */
    uint32_t running;        /* guests that are not stopped */
    double load, guest_load; /* CPUs that primaries, and guests that are not stopped,
                                would use at full speed */
    int64_t promised, used, expected,
        guest_memory;           /* KiB; guests: what they asked for */
    uint32_t primaries, guests; /* parts, the latest first */
    bool slows;                 /* guests here slow primaries here */
} hpcb_sim_node_t;

/* What a job's next event is. */
typedef enum {
    HPCB_SIM_ENDS,  /* its work is done */
    HPCB_SIM_LIMIT, /* its time limit is over */
    HPCB_SIM_CHECK, /* a guest's: the guard takes a step */
} hpcb_sim_next_t;

typedef struct {
    int64_t start_ns, since_ns, next_ns;
    double left_ns, rate; /* of its work; how fast that goes since then */
    uint32_t version;     /* of its event in the heap */
    hpcb_sim_next_t next_is;
    bool starved; /* a guest: requeued for it, so it goes where there is room */
    uint32_t parts;
    uint32_t slowed;     /* on so many of its nodes */
    uint32_t next, prev; /* in its queue */
} hpcb_sim_running_t;

typedef struct {
    uint32_t first, last;
} hpcb_sim_queue_t;

/* Of jobs that have ended; [1]: in the window. */
typedef struct {
    uint64_t ended[2], primaries, guests, timeouts, guest_timeouts, cancelled;
    uint64_t primary_ends; /* primaries that ended in any way */
    uint64_t evictions, starved;
    double cpu[2], guest_cpu[2], idle[2], lost_cpu; /* seconds */
    double turnaround, primary_turnaround, slowdown;
    int64_t last_ns;
} hpcb_sim_sums_t;

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
    hpcb_sim_places_t places; /* what primaries find free */
    hpcb_sim_places_t calm;   /* the same, if no guest has to go for it */
    hpcb_sim_shelves_t by_idle;
    hpcb_memguest_t *guest_at; /* of one node, while it is decided who has to go */
    uint64_t reserve;          /* bytes a node that are not lent */
    double guest_time; /* part of the time that guests run on nodes of primaries */
    hpcb_sim_plan_t plan, memory_plan;
    hpcb_sim_queue_t primaries, guests; /* that wait */
    bool no_memory;                     /* something is missing: the run is void */
    bool guests_changed;                /* since the first of them was tried */
    bool guests_wait;                   /* and those behind it have not been since */
    bool tick;
    int64_t next_backfill_ns;
    hpcb_sim_sums_t sums;
} hpcb_sim_state_t;

/* ---- cluster.c ---- */

/* A primary has guests requeued if it needs their memory. */
bool hpcb_sim_preempts(const hpcb_sim_state_t *state);

bool hpcb_sim_overlaid(const hpcb_sim_state_t *state, uint32_t job);

/* As the next of its queue. */
void hpcb_sim_enqueue_first(hpcb_sim_state_t *state, hpcb_sim_queue_t *queue,
                            uint32_t job);

/* ---- cluster_nodes.c: who holds what ---- */

/* What a job asks for each of its CPUs. */
int64_t hpcb_sim_memory_each(const hpcb_sim_past_t *past);

/* Whether free CPUs and memory are enough for a primary. */
bool hpcb_sim_primary_fits(const hpcb_sim_state_t *state, uint32_t job);

/* Start a primary that fits. */
void hpcb_sim_start_primary(hpcb_sim_state_t *state, uint32_t job);

/* The job has ended, or was evicted: it holds nothing any more. */
void hpcb_sim_release(hpcb_sim_state_t *state, uint32_t job);

/* Something on the node has changed: everybody there may be slower or faster. */
void hpcb_sim_update(hpcb_sim_state_t *state, uint32_t at);

/* Note that job holds cpus on a node; both lists get it.  HPCB_SIM_NONE: no memory. */
uint32_t hpcb_sim_hold(hpcb_sim_state_t *state, uint32_t job, uint32_t at,
                       uint32_t cpus, uint32_t *here);

/* ---- cluster_guests.c: guests on nodes ---- */

/* What a further guest may have of the node's memory. */
int64_t hpcb_sim_guest_memory(const hpcb_sim_state_t *state,
                              const hpcb_sim_node_t *node);

/* What the guest is promised. */
int64_t hpcb_sim_guest_asks(const hpcb_sim_state_t *state, const hpcb_sim_past_t *past);

/* Start a guest where most is idle; whether there is a place for it. */
bool hpcb_sim_start_guest(hpcb_sim_state_t *state, uint32_t job);

/* A primary has got memory on the node: guests that have to go for it do. */
void hpcb_sim_make_room(hpcb_sim_state_t *state, hpcb_sim_node_t *node);

/* The guard asks Slurm to requeue a guest that starves. */
void hpcb_sim_requeue_starved(hpcb_sim_state_t *state, uint32_t job);

/* ---- cluster_guard.c: guests that get next to nothing ---- */

bool hpcb_sim_is_stopped(const hpcb_sim_part_t *part);

/* The guest has started. */
void hpcb_sim_guard_begin(hpcb_sim_state_t *state, hpcb_sim_part_t *part);

/* Whether a further guest would have its least share on the node. */
bool hpcb_sim_guard_has_room(const hpcb_sim_state_t *state,
                             const hpcb_sim_node_t *node);

/* It runs on, and what it lacked until now is forgotten. */
void hpcb_sim_guard_anew(hpcb_sim_state_t *state, hpcb_sim_part_t *part);

/* Tell the guard what the guests of the node had until now; it may stop some or let
 * them go on. */
void hpcb_sim_guard_look(hpcb_sim_state_t *state, hpcb_sim_node_t *node);

/* What the guest has from now on, at that rate; next to it so much of a CPU is idle. */
void hpcb_sim_guard_note(hpcb_sim_state_t *state, hpcb_sim_part_t *part, double rate,
                         double idle);

/* The guard takes the step that was due; true: the guest is to be requeued. */
bool hpcb_sim_guard_check(hpcb_sim_state_t *state, hpcb_sim_part_t *part);

/* ---- cluster_speed.c: who runs how fast, and until when ---- */

/* A job starts; it stands still until it has a speed. */
void hpcb_sim_begin_job(hpcb_sim_state_t *state, uint32_t job);

/* When its time limit is over; HPCB_SIM_NEVER: nobody knows. */
int64_t hpcb_sim_limit_ns(const hpcb_sim_state_t *state, uint32_t job);

/* Nanoseconds of its work that it has done by now. */
double hpcb_sim_done_ns(const hpcb_sim_state_t *state, uint32_t job);

void hpcb_sim_speed_primary(hpcb_sim_state_t *state, uint32_t job);
void hpcb_sim_speed_guests(hpcb_sim_state_t *state, const hpcb_sim_node_t *node);

/* Guests that run on the node slow primaries there. */
bool hpcb_sim_slows(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node);

/* ---- cluster_figures.c ---- */

/* The job has ended: as it should, or because of its time limit. */
void hpcb_sim_count_end(hpcb_sim_state_t *state, uint32_t job, bool timed_out);

/* What a guest has done is lost, because it is requeued or cancelled. */
void hpcb_sim_count_lost(hpcb_sim_state_t *state, uint32_t job);

void hpcb_sim_sum_up(const hpcb_sim_state_t *state, hpcb_sim_figures_t *figures);

#endif
