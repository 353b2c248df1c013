/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Who runs when: the queues, backfill and the loop over events. */
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

static uint32_t cpus_of(const hpcb_sim_state_t *state, uint32_t job)
{
    return state->history->job[job].cpus;
}

/* Behind the first job, which waits: start those that do not delay it. */
static void backfill(hpcb_sim_state_t *state)
{
    uint32_t head = state->primaries.first, job = state->run[head].next;
    int64_t ended = 0, spare;
    int64_t when = hpcb_sim_plan_when(
        &state->plan, (int64_t)cpus_of(state, head) - (int64_t)state->free_cpus,
        &ended);

    spare = (int64_t)state->free_cpus + ended - (int64_t)cpus_of(state, head);
    for (unsigned i = 0; i < BACKFILL_DEPTH && job != HPCB_SIM_NONE; i++) {
        uint32_t next = state->run[job].next;
        int64_t cpus = cpus_of(state, job);
        int64_t end = state->now_ns + state->history->job[job].limit * HPCB_SIM_SECOND;

        if (cpus <= (int64_t)state->free_cpus && (end <= when || cpus <= spare)) {
            dequeue(state, &state->primaries, job);
            hpcb_sim_start_primary(state, job);
            spare -= end <= when ? 0 : cpus;
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
            /* Back where it was. */
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

/* The next time that jobs behind the first are looked at. */
static void set_tick(hpcb_sim_state_t *state)
{
    hpcb_sim_event_t event = {.at_ns = state->next_backfill_ns, .id = TICK};

    if (state->tick)
        return;
    state->tick = true;
    if (hpcb_sim_heap_push(&state->heap, event) < 0)
        state->no_memory = true;
}

/* Whenever something changes the first of each queue starts if it can; those behind it
 * get a look from time to time, as Slurm's backfill has it. */
static void schedule(hpcb_sim_state_t *state)
{
    bool behind, look = state->now_ns >= state->next_backfill_ns;
    uint32_t job;

    while ((job = state->primaries.first) != HPCB_SIM_NONE &&
           cpus_of(state, job) <= state->free_cpus && !state->no_memory) {
        dequeue(state, &state->primaries, job);
        hpcb_sim_start_primary(state, job);
    }
    behind = job != HPCB_SIM_NONE && state->run[job].next != HPCB_SIM_NONE &&
             state->free_cpus > 0;
    if (behind && look)
        backfill(state);
    if (state->guests_changed) {
        start_guests(state, look ? GUEST_FAILS : 1);
        state->guests_changed = false;
        state->guests_wait = !look && state->guests.first != HPCB_SIM_NONE;
    } else if (state->guests_wait && look) {
        start_guests(state, GUEST_FAILS);
        state->guests_wait = false;
    }
    if (look && (behind || state->guests.first != HPCB_SIM_NONE))
        state->next_backfill_ns = state->now_ns + BACKFILL_EVERY;
    else if (!look && (behind || state->guests_wait))
        set_tick(state);
}

typedef struct {
    uint64_t ended, primaries;
    double turnaround, primary_turnaround, slowdown, cpu, guest_cpu, idle;
    int64_t last_ns;
} sums_t;

static void account(hpcb_sim_state_t *state, uint32_t job, sums_t *sums)
{
    const hpcb_sim_past_t *past = &state->history->job[job];
    double turnaround = (double)(state->now_ns - past->submit * HPCB_SIM_SECOND) /
                        (double)HPCB_SIM_SECOND;
    double cpu = (double)past->load * (double)past->run * past->cpus;

    sums->ended++;
    sums->turnaround += turnaround;
    sums->cpu += cpu;
    sums->last_ns = state->now_ns;
    if (hpcb_sim_overlaid(state, job)) {
        sums->guest_cpu += cpu;
        return;
    }
    sums->primaries++;
    sums->idle += (1 - (double)past->load) * (double)past->run * past->cpus;
    sums->primary_turnaround += turnaround;
    sums->slowdown += (double)(state->now_ns - state->run[job].start_ns) /
                      ((double)past->run * (double)HPCB_SIM_SECOND);
}

static void submit(hpcb_sim_state_t *state, uint32_t job)
{
    bool guest = hpcb_sim_overlaid(state, job);

    enqueue(state, guest ? &state->guests : &state->primaries, job);
    if (guest)
        state->guests_changed = true;
}

/* All that happens at the next moment; whether there was one. */
static bool next_moment(hpcb_sim_state_t *state, size_t *submitted, sums_t *sums)
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
        if (job == TICK) {
            state->tick = false;
        } else if (version == state->run[job].version) {
            account(state, job, sums);
            hpcb_sim_release(state, job);
        }
    }
    while (*submitted < history->n &&
           history->job[*submitted].submit * HPCB_SIM_SECOND <= state->now_ns)
        submit(state, (uint32_t)(*submitted)++);
    schedule(state);
    return !state->no_memory;
}

static void sum_up(const hpcb_sim_state_t *state, const sums_t *sums,
                   hpcb_sim_figures_t *figures)
{
    const hpcb_sim_history_t *history = state->history;
    double cpus = (double)state->conf->nodes * state->conf->cpus,
           n = (double)sums->ended;
    double primaries = (double)sums->primaries, guests = n - primaries;
    double period = history->n > 0 ? (double)sums->last_ns / (double)HPCB_SIM_SECOND -
                                         (double)history->job[0].submit
                                   : 0;

    *figures = (hpcb_sim_figures_t){
        .jobs = sums->ended,
        .guests = sums->ended - sums->primaries,
        .period_s = period,
        .cpu_seconds = sums->cpu,
        .guest_cpu_seconds = sums->guest_cpu,
        .left_idle_cpu_seconds = sums->idle,
        .throughput_jobs_per_hour = period > 0 ? 3600 * n / period : 0,
        .efficiency = period > 0 ? sums->cpu / (cpus * period) : 0,
        .turnaround_mean_s = n > 0 ? sums->turnaround / n : 0,
        .primary_turnaround_mean_s =
            primaries > 0 ? sums->primary_turnaround / primaries : 0,
        .guest_turnaround_mean_s =
            guests > 0 ? (sums->turnaround - sums->primary_turnaround) / guests : 0,
        .primary_slowdown_mean = primaries > 0 ? sums->slowdown / primaries : 1,
        .evictions = state->evictions,
    };
}

static int state_begin(hpcb_sim_state_t *state)
{
    const hpcb_sim_history_t *history = state->history;
    const hpcb_sim_cluster_t *conf = state->conf;
    int64_t from = history->n > 0 ? history->job[0].submit : 0;
    int64_t to = history->n > 0 ? history->job[history->n - 1].submit : 0;

    state->node = calloc(conf->nodes, sizeof(*state->node));
    state->run = calloc(history->n + 1, sizeof(*state->run));
    /* A guest has at least a CPU. */
    state->guest_at = calloc(conf->cpus, sizeof(*state->guest_at));
    state->reserve = hpcb_lend_reserve(&reserve, (uint64_t)conf->memory * 1024);
    if (!state->node || !state->run || !state->guest_at ||
        hpcb_sim_shelves_begin(&state->by_free, conf->nodes, conf->cpus + 1) < 0 ||
        hpcb_sim_shelves_begin(&state->by_idle, conf->nodes, conf->cpus + 2) < 0 ||
        hpcb_sim_plan_begin(&state->plan, from * HPCB_SIM_SECOND,
                            (to + 2 * (to - from)) * HPCB_SIM_SECOND) < 0)
        return -1;
    state->free_cpus = (uint64_t)conf->nodes * conf->cpus;
    state->part_free = HPCB_SIM_NONE;
    state->primaries = state->guests = (hpcb_sim_queue_t){HPCB_SIM_NONE, HPCB_SIM_NONE};
    for (uint32_t i = 0; i < conf->nodes; i++) {
        state->node[i].free = conf->cpus;
        state->node[i].primaries = state->node[i].guests = HPCB_SIM_NONE;
        hpcb_sim_shelves_move(&state->by_free, i, conf->cpus);
        hpcb_sim_shelves_move(&state->by_idle, i, conf->cpus + 1);
    }
    return 0;
}

static void state_end(hpcb_sim_state_t *state)
{
    hpcb_sim_heap_free(&state->heap);
    hpcb_sim_shelves_free(&state->by_free);
    hpcb_sim_shelves_free(&state->by_idle);
    hpcb_sim_plan_free(&state->plan);
    free(state->node);
    free(state->run);
    free(state->guest_at);
    free(state->part);
}

int hpcb_sim_cluster(const hpcb_sim_cluster_t *cluster, hpcb_sim_regime_t regime,
                     const hpcb_sim_history_t *history, hpcb_sim_progress_t *progress,
                     hpcb_sim_figures_t *figures, hpcb_error_t *err)
{
    hpcb_sim_state_t state = {.conf = cluster, .history = history, .regime = regime};
    sums_t sums = {0};
    size_t submitted = 0;
    uint64_t steps = 0;
    int rc = state_begin(&state);

    while (rc == 0 && next_moment(&state, &submitted, &sums))
        if (++steps % TELL_EVERY == 0)
            hpcb_sim_progress_part(progress, (double)sums.ended / (double)history->n,
                                   0);
    if (rc < 0 || state.no_memory)
        rc = hpcb_error(err, "%s", strerror(ENOMEM));
    else
        sum_up(&state, &sums, figures);
    state_end(&state);
    return rc;
}
