/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The queues, backfill and the loop over events. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/lend.h"
#include "sim/cluster_parts.h"
#include "sim/random.h"

#define STREAM_GUESTS  UINT64_C(0x9e57)
#define TICK           HPCB_SIM_NONE /* the id of an event that is no job's */
#define BACKFILL_EVERY (30 * HPCB_SIM_SECOND)
#define BACKFILL_DEPTH 100
#define GUEST_FAILS    8
#define TELL_EVERY     1024

/* GuestMemoryReserve's default. */
static const hpcb_lend_reserve_t reserve = {.percent = 5};

bool hpcb_sim_is_guest(const hpcb_sim_cluster_t *cluster,
                       const hpcb_sim_history_t *history, size_t job)
{
    const hpcb_sim_past_t *past = &history->job[job];
    hpcb_sim_stream_t chance = hpcb_sim_stream(cluster->seed, STREAM_GUESTS + job);

    if (past->cpus > cluster->cpus || past->kind == HPCB_SIM_PRIMARY)
        return false;
    return past->kind == HPCB_SIM_GUEST ||
           hpcb_sim_fraction(&chance) <= cluster->guest_part;
}

bool hpcb_sim_overlaid(const hpcb_sim_state_t *state, uint32_t job)
{
    return state->regime != HPCB_SIM_DEDICATED &&
           hpcb_sim_is_guest(state->conf, state->history, job);
}

bool hpcb_sim_preempts(const hpcb_sim_state_t *state)
{
    return state->regime == HPCB_SIM_GUESTS;
}

static void enqueue(hpcb_sim_state_t *state, hpcb_sim_queue_t *queue, uint32_t job)
{
    hpcb_sim_running_t *run = &state->run[job];

    run->next = HPCB_SIM_NONE;
    run->prev = queue->last;
    if (queue->last != HPCB_SIM_NONE)
        state->run[queue->last].next = job;
    else
        queue->first = job;
    queue->last = job;
}

void hpcb_sim_enqueue_first(hpcb_sim_state_t *state, hpcb_sim_queue_t *queue,
                            uint32_t job)
{
    hpcb_sim_running_t *run = &state->run[job];

    run->prev = HPCB_SIM_NONE;
    run->next = queue->first;
    if (queue->first != HPCB_SIM_NONE)
        state->run[queue->first].prev = job;
    else
        queue->last = job;
    queue->first = job;
}

static void dequeue(hpcb_sim_state_t *state, hpcb_sim_queue_t *queue, uint32_t job)
{
    hpcb_sim_running_t *run = &state->run[job];

    if (run->prev != HPCB_SIM_NONE)
        state->run[run->prev].next = run->next;
    else
        queue->first = run->next;
    if (run->next != HPCB_SIM_NONE)
        state->run[run->next].prev = run->prev;
    else
        queue->last = run->prev;
}

/* The head of the queue of primaries, and what others may take without delaying it. */
typedef struct {
    int64_t when_ns;
    int64_t cpus, memory; /* that are left by then, KiB */
} reserved_t;

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Reserve by the limits of running jobs.  Memory counts as if all nodes were one: on
 * which node a job's end frees it is ignored. */
static reserved_t reserve_head(const hpcb_sim_state_t *state)
{
    const hpcb_sim_past_t *head = &state->history->job[state->primaries.first];
    int64_t cpus = head->cpus, memory = hpcb_sim_memory_each(head) * cpus;
    int64_t free_cpus = (int64_t)state->places.free_cpus,
            free_memory = state->places.free_memory;
    int64_t ended = 0, ended_memory = 0;
    reserved_t reserved = {.when_ns = state->now_ns};

    if (cpus > free_cpus)
        reserved.when_ns = hpcb_sim_plan_when(&state->plan, cpus - free_cpus);
    if (memory > free_memory)
        reserved.when_ns =
            later(reserved.when_ns,
                  hpcb_sim_plan_when(&state->memory_plan, memory - free_memory));
    /* Enough of both, but not on the same nodes: the next end may help. */
    if (reserved.when_ns == state->now_ns)
        reserved.when_ns = hpcb_sim_plan_when(&state->plan, 1);
    ended = hpcb_sim_plan_by(&state->plan, reserved.when_ns);
    ended_memory = hpcb_sim_plan_by(&state->memory_plan, reserved.when_ns);
    reserved.cpus = free_cpus + ended - cpus;
    reserved.memory = free_memory + ended_memory - memory;
    return reserved;
}

/* Behind the first job, which waits: start those that do not delay it. */
static void backfill(hpcb_sim_state_t *state)
{
    uint32_t job = state->run[state->primaries.first].next;
    reserved_t head = reserve_head(state);

    for (unsigned i = 0; i < BACKFILL_DEPTH && job != HPCB_SIM_NONE; i++) {
        const hpcb_sim_past_t *past = &state->history->job[job];
        uint32_t next = state->run[job].next;
        int64_t end = state->now_ns + past->limit * HPCB_SIM_SECOND;
        int64_t memory = hpcb_sim_memory_each(past) * past->cpus;
        bool ends = end <= head.when_ns;

        if ((ends || (past->cpus <= head.cpus && memory <= head.memory)) &&
            hpcb_sim_primary_fits(state, job)) {
            dequeue(state, &state->primaries, job);
            hpcb_sim_start_primary(state, job);
            head.cpus -= ends ? 0 : past->cpus;
            head.memory -= ends ? 0 : memory;
        }
        job = next;
    }
}

/* In their order, until so many have found no place. */
static void start_guests(hpcb_sim_state_t *state, unsigned fails)
{
    uint32_t job = state->guests.first;
    unsigned failed = 0;

    while (job != HPCB_SIM_NONE && failed < fails) {
        uint32_t next = state->run[job].next;

        dequeue(state, &state->guests, job);
        if (!hpcb_sim_start_guest(state, job)) {
            /* to its old position */
            hpcb_sim_running_t *run = &state->run[job];

            if (run->prev != HPCB_SIM_NONE)
                state->run[run->prev].next = job;
            else
                state->guests.first = job;
            if (run->next != HPCB_SIM_NONE)
                state->run[run->next].prev = job;
            else
                state->guests.last = job;
            failed++;
        }
        job = next;
    }
}

/* Set the next time at which jobs behind the first are considered. */
static void set_tick(hpcb_sim_state_t *state)
{
    hpcb_sim_event_t event = {.at_ns = state->next_backfill_ns, .id = TICK};

    if (state->tick)
        return;
    state->tick = true;
    if (hpcb_sim_heap_push(&state->heap, event) < 0)
        state->no_memory = true;
}

/* A primary waits, and not for CPUs: guests that take more memory would delay it. */
static bool waits_for_memory(const hpcb_sim_state_t *state)
{
    uint32_t head = state->primaries.first;

    return state->regime == HPCB_SIM_NICE && head != HPCB_SIM_NONE &&
           state->history->job[head].cpus <= state->places.free_cpus;
}

static void schedule_guests(hpcb_sim_state_t *state, bool look)
{
    if (waits_for_memory(state)) {
        state->guests_wait = state->guests.first != HPCB_SIM_NONE;
    } else if (state->guests_changed) {
        start_guests(state, look ? GUEST_FAILS : 1);
        state->guests_changed = false;
        state->guests_wait = !look && state->guests.first != HPCB_SIM_NONE;
    } else if (state->guests_wait && look) {
        start_guests(state, GUEST_FAILS);
        state->guests_wait = false;
    }
}

/* Whenever something changes the first of each queue starts if it can, primaries before
 * guests; those behind it are tried from time to time, as Slurm's backfill has it. */
static void schedule(hpcb_sim_state_t *state)
{
    bool behind, look = state->now_ns >= state->next_backfill_ns;
    uint32_t job;

    while ((job = state->primaries.first) != HPCB_SIM_NONE && !state->no_memory &&
           hpcb_sim_primary_fits(state, job)) {
        dequeue(state, &state->primaries, job);
        hpcb_sim_start_primary(state, job);
    }
    behind = job != HPCB_SIM_NONE && state->run[job].next != HPCB_SIM_NONE &&
             state->places.free_cpus > 0;
    if (behind && look)
        backfill(state);
    schedule_guests(state, look);
    if (look && (behind || state->guests.first != HPCB_SIM_NONE))
        state->next_backfill_ns = state->now_ns + BACKFILL_EVERY;
    else if (!look && (behind || state->guests_wait))
        set_tick(state);
}

static void submit(hpcb_sim_state_t *state, uint32_t job)
{
    bool guest = hpcb_sim_overlaid(state, job);

    enqueue(state, guest ? &state->guests : &state->primaries, job);
    if (guest)
        state->guests_changed = true;
}

/* A job's next event has come. */
static void take_event(hpcb_sim_state_t *state, uint32_t job)
{
    hpcb_sim_running_t *run = &state->run[job];

    run->next_ns = HPCB_SIM_NEVER;
    if (run->next_is == HPCB_SIM_CHECK) {
        if (hpcb_sim_guard_check(state, &state->part[run->parts]))
            hpcb_sim_requeue_starved(state, job);
        return;
    }
    hpcb_sim_count_end(state, job,
                       run->next_is == HPCB_SIM_LIMIT &&
                           !state->history->job[job].limited);
    hpcb_sim_release(state, job);
}

/* All that happens at the next moment; whether there was one. */
static bool next_moment(hpcb_sim_state_t *state, size_t *submitted)
{
    const hpcb_sim_history_t *history = state->history;
    const hpcb_sim_event_t *first = hpcb_sim_heap_first(&state->heap);
    int64_t arrives = *submitted < history->n
                          ? history->job[*submitted].submit * HPCB_SIM_SECOND
                          : INT64_MAX;

    if (!first && arrives == INT64_MAX)
        return false;
    state->now_ns = first && first->at_ns < arrives ? first->at_ns : arrives;
    while ((first = hpcb_sim_heap_first(&state->heap)) &&
           first->at_ns <= state->now_ns) {
        uint32_t job = first->id, version = first->version;

        hpcb_sim_heap_pop(&state->heap);
        if (job == TICK)
            state->tick = false;
        else if (version == state->run[job].version)
            take_event(state, job);
    }
    while (*submitted < history->n &&
           history->job[*submitted].submit * HPCB_SIM_SECOND <= state->now_ns)
        submit(state, (uint32_t)(*submitted)++);
    schedule(state);
    return !state->no_memory;
}

static int state_begin(hpcb_sim_state_t *state)
{
    const hpcb_sim_history_t *history = state->history;
    const hpcb_sim_cluster_t *conf = state->conf;
    int64_t from = history->n > 0 ? history->job[0].submit : 0;
    int64_t to = history->n > 0 ? history->job[history->n - 1].submit : 0;
    int64_t plan_to = (to + 2 * (to - from)) * HPCB_SIM_SECOND;

    from *= HPCB_SIM_SECOND;
    state->node = calloc(conf->nodes, sizeof(*state->node));
    state->run = calloc(history->n + 1, sizeof(*state->run));
    /* A guest has at least a CPU. */
    state->guest_at = calloc(conf->cpus, sizeof(*state->guest_at));
    state->reserve = hpcb_lend_reserve(&reserve, (uint64_t)conf->memory * HPCB_SIM_KIB);
    if (!state->node || !state->run || !state->guest_at ||
        hpcb_sim_places_begin(&state->places, conf->nodes, conf->cpus, conf->memory) <
            0 ||
        (hpcb_sim_preempts(state) &&
         hpcb_sim_places_begin(&state->calm, conf->nodes, conf->cpus, conf->memory) <
             0) ||
        hpcb_sim_shelves_begin(&state->by_idle, conf->nodes, conf->cpus + 2) < 0 ||
        hpcb_sim_plan_begin(&state->plan, from, plan_to) < 0 ||
        hpcb_sim_plan_begin(&state->memory_plan, from, plan_to) < 0)
        return -1;
    state->part_free = HPCB_SIM_NONE;
    state->primaries = state->guests = (hpcb_sim_queue_t){HPCB_SIM_NONE, HPCB_SIM_NONE};
    for (uint32_t i = 0; i < conf->nodes; i++) {
        state->node[i].free = conf->cpus;
        state->node[i].primaries = state->node[i].guests = HPCB_SIM_NONE;
        hpcb_sim_shelves_move(&state->by_idle, i, conf->cpus + 1);
    }
    return 0;
}

static void state_end(hpcb_sim_state_t *state)
{
    hpcb_sim_heap_free(&state->heap);
    hpcb_sim_places_free(&state->places);
    hpcb_sim_places_free(&state->calm);
    hpcb_sim_shelves_free(&state->by_idle);
    hpcb_sim_plan_free(&state->plan);
    hpcb_sim_plan_free(&state->memory_plan);
    free(state->node);
    free(state->run);
    free(state->guest_at);
    free(state->part);
}

static double ended_part(const hpcb_sim_state_t *state)
{
    const hpcb_sim_sums_t *sums = &state->sums;

    return (double)(sums->ended[0] + sums->timeouts + sums->cancelled) /
           (double)state->history->n;
}

int hpcb_sim_cluster(const hpcb_sim_cluster_t *cluster, hpcb_sim_regime_t regime,
                     const hpcb_sim_history_t *history, hpcb_sim_progress_t *progress,
                     hpcb_sim_figures_t *figures, hpcb_error_t *err)
{
    hpcb_sim_state_t state = {.conf = cluster,
                              .history = history,
                              .regime = regime,
                              .guest_time = hpcb_sim_guest_time(cluster)};
    size_t submitted = 0;
    uint64_t steps = 0;
    int rc = state_begin(&state);

    while (rc == 0 && next_moment(&state, &submitted))
        if (++steps % TELL_EVERY == 0)
            hpcb_sim_progress_part(progress, ended_part(&state), 0);
    if (rc < 0 || state.no_memory)
        rc = hpcb_error(err, "%s", strerror(ENOMEM));
    else
        hpcb_sim_sum_up(&state, figures);
    state_end(&state);
    return rc;
}
