/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Bandwidths are clamped to 2^53 a node and 2^47 a job on the way in, so that a square
 * of a distance has 108 bits, and the sum of all columns of all nodes less than 128:
 * deal->cost is exact, and taking a job and lifting it again gives the same.
 */
#include "policy/deal.h"

#include <assert.h>
#include <string.h>

#define NODE_LIMIT (UINT64_C(1) << 53)
#define SEAT_LIMIT (NODE_LIMIT / HPCB_DEAL_NODE_SEATS)

static_assert(HPCB_DEAL_NODES_MAX <= 1 << 13 && HPCB_DEAL_CYCLE_MAX <= 1 << 6,
              "the cost of all columns has 127 bits");

/* So many times as long a cycle may become as all jobs of its CPUs need. */
#define LENGTHEN_MAX 4

/* A change pays if the squares fall by so much of the ideal's. */
#define CLEAR_GAIN 16

/* Maximum number of jobs displaced by one, and of rounds of changes. */
#define DISPLACED_MAX 8
#define ROUNDS        4

/* Those jobs have so many times as many nodes at most: else each of a thousand narrow
 * jobs would move a wide one here and back. */
#define WIDER_MAX 16

#define NOBODY HPCB_DEAL_JOBS_MAX

/* ---- what is known ---- */

static uint64_t at_most(uint64_t value, uint64_t limit)
{
    return value < limit ? value : limit;
}

/* One axis of a node. */
typedef struct {
    uint64_t capacity;
    hpcb_fit_square_t use; /* of those seats of which it is known */
    unsigned processors;   /* theirs */
} axis_t;

static void add_to_axis(axis_t *axis, bool known, uint64_t use, unsigned processors)
{
    if (!known)
        return;
    axis->use += use;
    axis->processors += processors;
}

/* If the capacity of the node is unknown, use what its jobs use at a time if all have
 * the same number of turns. */
static uint64_t or_average(const axis_t *axis, unsigned processors)
{
    if (axis->capacity > 0 || axis->processors == 0)
        return at_most(axis->capacity, NODE_LIMIT);
    return at_most((uint64_t)(axis->use * processors / axis->processors), NODE_LIMIT);
}

static uint64_t share_of(int64_t whole, const hpcb_deal_seat_t *seat,
                         unsigned processors)
{
    return at_most((uint64_t)whole, NODE_LIMIT) / processors * seat->processors;
}

/* Set the capacity of the node, and the use of seats if that is unknown. */
static void complete_node(hpcb_deal_t *deal, size_t n)
{
    const hpcb_deal_node_t *node = &deal->nodes[n];
    axis_t mem = {.capacity = node->capacity.mem},
           net = {.capacity = node->capacity.net};
    hpcb_deal_seat_t *seats = &deal->seats[node->first];
    hpcb_bw_t whole;

    for (size_t i = 0; i < node->count; i++) {
        seats[i].use.mem = at_most(seats[i].use.mem, SEAT_LIMIT);
        seats[i].use.net = at_most(seats[i].use.net, SEAT_LIMIT);
        add_to_axis(&mem, seats[i].mem_known, seats[i].use.mem, seats[i].processors);
        add_to_axis(&net, seats[i].net_known, seats[i].use.net, seats[i].processors);
        deal->node_of[node->first + i] = (uint32_t)n;
    }
    whole.mem = or_average(&mem, node->processors);
    whole.net = or_average(&net, node->processors);
    deal->whole[n] = hpcb_fit_whole(&whole, node->processors);
    for (size_t i = 0; i < node->count; i++) {
        if (!seats[i].mem_known)
            seats[i].use.mem = at_most(
                share_of(deal->whole[n].mem, &seats[i], node->processors), SEAT_LIMIT);
        if (!seats[i].net_known)
            seats[i].use.net = at_most(
                share_of(deal->whole[n].net, &seats[i], node->processors), SEAT_LIMIT);
    }
}

/* The seats of each job, one after the other. */
static void sort_seats(hpcb_deal_t *deal)
{
    uint32_t next = 0;

    for (size_t i = 0; i < deal->n_jobs; i++)
        deal->state[i] = (hpcb_deal_state_t){.cycle = 1};
    for (size_t i = 0; i < deal->n_seats; i++)
        deal->state[deal->seats[i].job].count++;
    for (size_t i = 0; i < deal->n_jobs; i++) {
        deal->state[i].first = next;
        next += deal->state[i].count;
        deal->state[i].count = 0;
    }
    for (size_t i = 0; i < deal->n_seats; i++) {
        hpcb_deal_state_t *state = &deal->state[deal->seats[i].job];

        deal->by_job[state->first + state->count++] = (uint32_t)i;
    }
}

/* The shortest cycle that has a slot for each job of its CPUs, and weights. */
static void weigh_job(hpcb_deal_t *deal, hpcb_deal_state_t *state)
{
    const hpcb_fit_left_t nothing = {.processors = 1};

    for (uint32_t i = 0; i < state->count; i++) {
        const hpcb_deal_seat_t *seat = &deal->seats[deal->by_job[state->first + i]];
        const hpcb_fit_left_t *whole =
            &deal->whole[deal->node_of[deal->by_job[state->first + i]]];
        const hpcb_fit_app_t use = {seat->use, whole->processors};
        const hpcb_fit_app_t idle = {.processors = whole->processors};

        while (state->cycle < seat->depth && state->cycle < HPCB_DEAL_CYCLE_MAX)
            state->cycle *= 2;
        state->longest =
            (unsigned)at_most(LENGTHEN_MAX * state->cycle, HPCB_DEAL_CYCLE_MAX);
        state->weight += hpcb_fit_distance(&use, &nothing);
        state->ideal += hpcb_fit_distance(&idle, whole);
    }
}

static void prepare(hpcb_deal_t *deal)
{
    for (size_t i = 0; i < deal->n_nodes; i++)
        complete_node(deal, i);
    sort_seats(deal);
    for (size_t i = 0; i < deal->n_jobs; i++)
        weigh_job(deal, &deal->state[i]);
}

/* ---- slots ---- */

static hpcb_fit_square_t cost_of(const hpcb_deal_t *deal, size_t node, unsigned column)
{
    const hpcb_fit_left_t *whole = &deal->whole[node];
    const hpcb_fit_app_t together = {deal->column[node][column].use, whole->processors};

    return hpcb_fit_distance(&together, whole);
}

static uint64_t bit_of(const hpcb_deal_t *deal, uint32_t seat)
{
    return UINT64_C(1) << (seat - deal->nodes[deal->node_of[seat]].first);
}

/* The job comes into its slot on all its nodes, or leaves it. */
static void change(hpcb_deal_t *deal, size_t job, bool comes)
{
    hpcb_deal_state_t *state = &deal->state[job];

    for (uint32_t i = 0; i < state->count; i++) {
        uint32_t seat = deal->by_job[state->first + i], node = deal->node_of[seat];
        const hpcb_bw_t *use = &deal->seats[seat].use;

        for (unsigned k = state->slot; k < deal->columns; k += state->cycle) {
            hpcb_deal_column_t *column = &deal->column[node][k];

            deal->cost -= cost_of(deal, node, k);
            column->use.mem += comes ? use->mem : -use->mem;
            column->use.net += comes ? use->net : -use->net;
            column->seats ^= bit_of(deal, seat);
            deal->cost += cost_of(deal, node, k);
        }
    }
    state->placed = comes;
}

static void take(hpcb_deal_t *deal, size_t job, unsigned slot)
{
    deal->state[job].slot = slot;
    change(deal, job, true);
}

static void lift(hpcb_deal_t *deal, size_t job)
{
    change(deal, job, false);
}

static bool is_free(const hpcb_deal_t *deal, size_t job, unsigned slot)
{
    const hpcb_deal_state_t *state = &deal->state[job];

    for (uint32_t i = 0; i < state->count; i++) {
        uint32_t seat = deal->by_job[state->first + i], node = deal->node_of[seat];

        for (unsigned k = slot; k < deal->columns; k += state->cycle)
            if (deal->column[node][k].seats & deal->seats[seat].meets)
                return false;
    }
    return true;
}

/* In parts of the longest cycle there can be. */
static void count_free(hpcb_deal_t *deal, size_t job)
{
    hpcb_deal_state_t *state = &deal->state[job];

    state->free = 0;
    for (unsigned slot = 0; slot < state->cycle; slot++)
        if (is_free(deal, job, slot))
            state->free += HPCB_DEAL_CYCLE_MAX / state->cycle;
}

/* Call visit for each job that shares a CPU with it; for some more than once. */
static void visit_rivals(hpcb_deal_t *deal, size_t job,
                         void (*visit)(hpcb_deal_t *deal, size_t rival))
{
    const hpcb_deal_state_t *state = &deal->state[job];

    for (uint32_t i = 0; i < state->count; i++) {
        uint32_t seat = deal->by_job[state->first + i];
        uint32_t first = deal->nodes[deal->node_of[seat]].first;

        for (uint64_t left = deal->seats[seat].meets; left; left &= left - 1)
            visit(deal, deal->seats[first + (unsigned)__builtin_ctzll(left)].job);
    }
}

static void mark_stale(hpcb_deal_t *deal, size_t rival)
{
    hpcb_deal_state_t *state = &deal->state[rival];

    if (!state->stale)
        deal->stale[deal->n_stale++] = (uint32_t)rival;
    state->stale = true;
}

static void count_again(hpcb_deal_t *deal, size_t rival)
{
    if (!deal->state[rival].placed)
        count_free(deal, rival);
}

/* Each rival once, whatever number of seats they have in common. */
static void count_stale(hpcb_deal_t *deal)
{
    for (size_t i = 0; i < deal->n_stale; i++) {
        deal->state[deal->stale[i]].stale = false;
        count_again(deal, deal->stale[i]);
    }
    deal->n_stale = 0;
}

/* ---- an attempt ---- */

static void clear_columns(hpcb_deal_t *deal)
{
    deal->columns = 1;
    deal->n_stale = 0;
    deal->cost = 0;
    for (size_t i = 0; i < deal->n_jobs; i++) {
        hpcb_deal_state_t *state = &deal->state[i];

        state->placed = state->failed = false;
        if (state->cycle > deal->columns)
            deal->columns = state->cycle;
    }
    for (size_t i = 0; i < deal->n_nodes; i++) {
        memset(deal->column[i], 0, deal->columns * sizeof(deal->column[i][0]));
        for (unsigned k = 0; k < deal->columns; k++)
            deal->cost += cost_of(deal, i, k);
    }
}

/* Let jobs keep their slots if possible. */
static void keep_slots(hpcb_deal_t *deal)
{
    for (size_t i = 0; i < deal->n_jobs; i++) {
        const hpcb_deal_slot_t *before = &deal->jobs[i];
        unsigned slot = before->slot % deal->state[i].cycle;

        if (deal->state[i].count > 0 && before->cycle > 0 && is_free(deal, i, slot))
            take(deal, i, slot);
    }
}

static bool goes_before(const hpcb_deal_state_t *one, const hpcb_deal_state_t *other)
{
    if (one->free != other->free)
        return one->free < other->free;
    return one->weight > other->weight;
}

/* Return the next job; of equal ones, the one with the lowest ID.  NOBODY: all have a
 * slot, or no slot is left for them. */
static size_t next_job(const hpcb_deal_t *deal)
{
    size_t next = NOBODY;

    for (size_t i = 0; i < deal->n_jobs; i++) {
        const hpcb_deal_state_t *state = &deal->state[i];

        if (!state->placed && !state->failed && state->count > 0 &&
            (next == NOBODY || goes_before(state, &deal->state[next])))
            next = i;
    }
    return next;
}

/* In the slot that costs least.  False: there is none. */
static bool place(hpcb_deal_t *deal, size_t job)
{
    unsigned cycle = deal->state[job].cycle, best = cycle;
    hpcb_fit_square_t least = 0;

    for (unsigned slot = 0; slot < cycle; slot++) {
        if (!is_free(deal, job, slot))
            continue;
        take(deal, job, slot);
        if (best == cycle || deal->cost < least) {
            best = slot;
            least = deal->cost;
        }
        lift(deal, job);
    }
    if (best == cycle)
        return false;
    take(deal, job, best);
    return true;
}

/* True: all jobs have a slot. */
static bool attempt(hpcb_deal_t *deal, bool keep)
{
    bool all = true;
    size_t job;

    clear_columns(deal);
    if (keep)
        keep_slots(deal);
    for (size_t i = 0; i < deal->n_jobs; i++)
        if (!deal->state[i].placed)
            count_free(deal, i);
    while ((job = next_job(deal)) != NOBODY) {
        if (place(deal, job)) {
            visit_rivals(deal, job, mark_stale);
            count_stale(deal);
        } else {
            deal->state[job].failed = true;
            all = false;
        }
    }
    return all;
}

/* ---- longer cycles ---- */

/* Once for each attempt. */
static void lengthen(hpcb_deal_t *deal, size_t job)
{
    hpcb_deal_state_t *state = &deal->state[job];

    if (state->placed && state->cycle < state->longest)
        state->cycle *= 2;
    state->placed = false;
}

/* Those that found no slot, and those that share CPUs with them. */
static void lengthen_failed(hpcb_deal_t *deal)
{
    for (size_t i = 0; i < deal->n_jobs; i++)
        deal->state[i].placed = true;
    for (size_t i = 0; i < deal->n_jobs; i++) {
        if (!deal->state[i].failed)
            continue;
        lengthen(deal, i);
        visit_rivals(deal, i, lengthen);
    }
}

static void find_slots(hpcb_deal_t *deal)
{
    for (unsigned times = 1;; times *= 2) {
        if (attempt(deal, true) || attempt(deal, false))
            return;
        if (times >= LENGTHEN_MAX)
            break;
        lengthen_failed(deal);
    }
    /* A job without a slot must not cost all others theirs. */
    (void)attempt(deal, true);
}

/* ---- changes that pay ---- */

typedef struct {
    size_t jobs[DISPLACED_MAX], count;
    bool fits; /* in the list, and in the slot that is left */
} displaced_t;

static bool is_among(const displaced_t *displaced, size_t job)
{
    for (size_t i = 0; i < displaced->count; i++)
        if (displaced->jobs[i] == job)
            return true;
    return false;
}

static void displace(const hpcb_deal_t *deal, displaced_t *displaced, size_t job,
                     const hpcb_deal_state_t *comes)
{
    const hpcb_deal_state_t *goes = &deal->state[job];

    if (is_among(displaced, job))
        return;
    displaced->fits &= displaced->count < DISPLACED_MAX &&
                       goes->cycle == comes->cycle &&
                       goes->count <= WIDER_MAX * comes->count;
    if (displaced->fits)
        displaced->jobs[displaced->count++] = job;
}

/* Find the jobs that have the slot and share CPUs with the job. */
static displaced_t who_has(const hpcb_deal_t *deal, size_t job, unsigned slot)
{
    const hpcb_deal_state_t *state = &deal->state[job];
    displaced_t displaced = {.fits = true};

    for (uint32_t i = 0; i < state->count && displaced.fits; i++) {
        uint32_t seat = deal->by_job[state->first + i], node = deal->node_of[seat];
        uint32_t first = deal->nodes[node].first;

        for (unsigned k = slot; k < deal->columns; k += state->cycle)
            for (uint64_t left = deal->column[node][k].seats & deal->seats[seat].meets;
                 left && displaced.fits; left &= left - 1)
                displace(deal, &displaced,
                         deal->seats[first + (unsigned)__builtin_ctzll(left)].job,
                         state);
    }
    return displaced;
}

/* The job goes to slot, those that it displaces to its own.  False: that cannot be, and
 * nothing has changed. */
static bool trade(hpcb_deal_t *deal, size_t job, unsigned slot)
{
    displaced_t displaced = who_has(deal, job, slot);
    unsigned old = deal->state[job].slot;
    size_t moved = 0;

    if (!displaced.fits)
        return false;
    lift(deal, job);
    for (size_t i = 0; i < displaced.count; i++)
        lift(deal, displaced.jobs[i]);
    take(deal, job, slot);
    while (moved < displaced.count && is_free(deal, displaced.jobs[moved], old))
        take(deal, displaced.jobs[moved++], old);
    if (moved == displaced.count)
        return true;
    for (size_t i = 0; i < moved; i++)
        lift(deal, displaced.jobs[i]);
    lift(deal, job);
    for (size_t i = 0; i < displaced.count; i++)
        take(deal, displaced.jobs[i], slot);
    take(deal, job, old);
    return false;
}

static hpcb_fit_square_t clear_gain(const hpcb_deal_t *deal, size_t job)
{
    const hpcb_deal_state_t *state = &deal->state[job];

    return state->ideal / CLEAR_GAIN * (deal->columns / state->cycle);
}

/* True: the job has another slot, and that pays. */
static bool improve_job(hpcb_deal_t *deal, size_t job)
{
    const hpcb_deal_state_t *state = &deal->state[job];
    hpcb_fit_square_t before = deal->cost, least = clear_gain(deal, job);
    unsigned old = state->slot, best = old;

    for (unsigned slot = 0; slot < state->cycle; slot++) {
        if (slot == old || !trade(deal, job, slot))
            continue;
        if (deal->cost < before && before - deal->cost > least) {
            least = before - deal->cost;
            best = slot;
        }
        (void)trade(deal, job, old); /* the other way, which is free */
    }
    return best != old && trade(deal, job, best);
}

static void improve(hpcb_deal_t *deal)
{
    bool changed = true;

    for (unsigned round = 0; round < ROUNDS && changed; round++) {
        changed = false;
        for (size_t i = 0; i < deal->n_jobs; i++)
            if (deal->state[i].placed)
                changed |= improve_job(deal, i);
    }
}

void hpcb_deal(hpcb_deal_t *deal)
{
    prepare(deal);
    find_slots(deal);
    improve(deal);
    for (size_t i = 0; i < deal->n_jobs; i++) {
        const hpcb_deal_state_t *state = &deal->state[i];

        deal->jobs[i].cycle = state->placed ? state->cycle : 0;
        deal->jobs[i].slot = state->placed ? state->slot : 0;
    }
}
