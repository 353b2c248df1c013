/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Interface between the parts of sim/cluster.c: allocations on nodes, and speeds of
 * jobs. */
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

/* State of a guest for the guard of starving guests (policy/guard). */
typedef struct {
    hpcb_crumbs_t crumbs;
    double share; /* of its CPUs since the last step: used, or idle if stopped */
    bool wants;   /* it could have used more */
    int64_t check_ns;
} hpcb_sim_guarded_t;

/* Part of a job on one node, in the lists of the node and of the job. */
typedef struct {
    uint32_t job, node, cpus;
    uint32_t next_here, prev_here; /* on this node, of primaries or of guests */
    uint32_t next_of_job;          /* or of the free list */
    int64_t promised, used;        /* KiB; requested and needed */
    int64_t expected;              /* KiB, by policy/lend */
    hpcb_sim_guarded_t guarded;    /* of a guest */
} hpcb_sim_part_t;

typedef struct {
    uint32_t free;           /* CPUs without a primary */
    uint32_t guest_cpus;     /* CPUs with a guest */
    uint32_t running;        /* guests that are not stopped */
    double load, guest_load; /* CPUs that primaries, and guests that are not stopped,
                                would use at full speed */
    int64_t promised, used, expected, guest_memory; /* KiB; guests: as requested */
    uint32_t primaries, guests;                     /* parts, the latest first */
    bool slows; /* guests here slow primaries here */
} hpcb_sim_node_t;

/* Kind of a job's next event. */
typedef enum {
    HPCB_SIM_ENDS,  /* its work is complete */
    HPCB_SIM_LIMIT, /* its time limit is reached */
    HPCB_SIM_CHECK, /* of a guest: the guard takes a step */
} hpcb_sim_next_t;

typedef struct {
    int64_t start_ns, since_ns, next_ns;
    double left_ns, rate; /* rest of its work; present speed */
    uint32_t version;     /* of its event in the heap */
    hpcb_sim_next_t next_is;
    bool starved; /* of a guest: requeued because it starved, so it goes where CPU time
                     is left */
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
    uint64_t primary_ends; /* primaries that ended for any reason */
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
    hpcb_sim_places_t places; /* free resources for primaries */
    hpcb_sim_places_t calm;   /* the same, without requeuing guests */
    hpcb_sim_shelves_t by_idle;
    hpcb_memguest_t *guest_at; /* of one node, for the choice of guests that must go */
    uint64_t reserve;          /* bytes per node that are not lent */
    double guest_time; /* part of the time for which guests run on nodes of primaries */
    hpcb_sim_plan_t plan, memory_plan;
    hpcb_sim_queue_t primaries, guests; /* waiting jobs */
    bool no_memory;                     /* memory was short: the run is void */
    bool guests_changed;                /* since the first of them was tried */
    bool guests_wait; /* and the others have not been tried since then */
    bool tick;
    int64_t next_backfill_ns;
    hpcb_sim_sums_t sums;
} hpcb_sim_state_t;

/* ---- cluster.c ---- */

/* Return whether a primary that needs guests' memory has them requeued. */
bool hpcb_sim_preempts(const hpcb_sim_state_t *state);

bool hpcb_sim_overlaid(const hpcb_sim_state_t *state, uint32_t job);

/* Put the job at the front of the queue. */
void hpcb_sim_enqueue_first(hpcb_sim_state_t *state, hpcb_sim_queue_t *queue,
                            uint32_t job);

/* ---- cluster_nodes.c: allocations ---- */

/* Return the requested memory per CPU. */
int64_t hpcb_sim_memory_each(const hpcb_sim_past_t *past);

/* Return whether free CPUs and memory are enough for a primary. */
bool hpcb_sim_primary_fits(const hpcb_sim_state_t *state, uint32_t job);

/* Start a primary that fits. */
void hpcb_sim_start_primary(hpcb_sim_state_t *state, uint32_t job);

/* Free the resources of a job that has ended or was evicted. */
void hpcb_sim_release(hpcb_sim_state_t *state, uint32_t job);

/* Update the speeds of all jobs on the node after a change. */
void hpcb_sim_update(hpcb_sim_state_t *state, uint32_t at);

/* Allocate cpus of a node to job, in both lists.  Return HPCB_SIM_NONE if memory is
 * short. */
uint32_t hpcb_sim_hold(hpcb_sim_state_t *state, uint32_t job, uint32_t at,
                       uint32_t cpus, uint32_t *here);

/* ---- cluster_guests.c: guests on nodes ---- */

/* Return the memory of the node that another guest may get. */
int64_t hpcb_sim_guest_memory(const hpcb_sim_state_t *state,
                              const hpcb_sim_node_t *node);

/* Return the memory that the guest is promised. */
int64_t hpcb_sim_guest_asks(const hpcb_sim_state_t *state, const hpcb_sim_past_t *past);

/* Start a guest on the node with the most idle CPU time.  Return whether there is one
 * for it. */
bool hpcb_sim_start_guest(hpcb_sim_state_t *state, uint32_t job);

/* Evict guests from the node for memory that a primary has got. */
void hpcb_sim_make_room(hpcb_sim_state_t *state, hpcb_sim_node_t *node);

/* Requeue a starving guest for the guard. */
void hpcb_sim_requeue_starved(hpcb_sim_state_t *state, uint32_t job);

/* ---- cluster_guard.c: starving guests ---- */

bool hpcb_sim_is_stopped(const hpcb_sim_part_t *part);

/* Begin with a guest that has started. */
void hpcb_sim_guard_begin(hpcb_sim_state_t *state, hpcb_sim_part_t *part);

/* Return whether another guest would get its minimum share on the node. */
bool hpcb_sim_guard_has_room(const hpcb_sim_state_t *state,
                             const hpcb_sim_node_t *node);

/* Continue the guest, and forget what it lacked until now. */
void hpcb_sim_guard_anew(hpcb_sim_state_t *state, hpcb_sim_part_t *part);

/* Report to the guard what the guests of the node got until now; it may stop or
 * continue some. */
void hpcb_sim_guard_look(hpcb_sim_state_t *state, hpcb_sim_node_t *node);

/* Set the guest's speed from now on, and the idle CPU time next to it. */
void hpcb_sim_guard_note(hpcb_sim_state_t *state, hpcb_sim_part_t *part, double rate,
                         double idle);

/* Take the guard's step that is due.  Return true if the guest must be requeued. */
bool hpcb_sim_guard_check(hpcb_sim_state_t *state, hpcb_sim_part_t *part);

/* ---- cluster_speed.c: speeds and ends of jobs ---- */

/* Start a job; it stands still until it has a speed. */
void hpcb_sim_begin_job(hpcb_sim_state_t *state, uint32_t job);

/* Return the time of its time limit; HPCB_SIM_NEVER if it is not known. */
int64_t hpcb_sim_limit_ns(const hpcb_sim_state_t *state, uint32_t job);

/* Return the nanoseconds of its work that are complete. */
double hpcb_sim_done_ns(const hpcb_sim_state_t *state, uint32_t job);

void hpcb_sim_speed_primary(hpcb_sim_state_t *state, uint32_t job);
void hpcb_sim_speed_guests(hpcb_sim_state_t *state, const hpcb_sim_node_t *node);

/* Return whether guests that run on the node slow down primaries there. */
bool hpcb_sim_slows(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node);

/* ---- cluster_figures.c ---- */

/* Count a job that has ended, successfully or at its time limit. */
void hpcb_sim_count_end(hpcb_sim_state_t *state, uint32_t job, bool timed_out);

/* Count a guest's lost work, because it is requeued or cancelled. */
void hpcb_sim_count_lost(hpcb_sim_state_t *state, uint32_t job);

void hpcb_sim_sum_up(const hpcb_sim_state_t *state, hpcb_sim_figures_t *figures);

#endif
