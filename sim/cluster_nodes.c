/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Allocations on nodes. */
#include "config.h"

#include <stdlib.h>

#include "policy/lend.h"
#include "sim/cluster_parts.h"

/* Memory that Slurm can still promise a primary: stock Slurm does not preempt. */
static int64_t room(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    int64_t left = state->conf->memory - node->promised;

    return state->regime == HPCB_SIM_NICE ? left - node->guest_memory : left;
}

/* Level 0 has nothing for a guest; higher levels are by idle CPUs. */
static uint32_t idle_level(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    double idle = (double)state->conf->cpus - node->load - node->guest_load;

    if (node->guest_cpus >= state->conf->cpus ||
        hpcb_sim_guest_memory(state, node) <= 0)
        return 0;
    return idle <= 0 ? 1 : 1 + (uint32_t)idle;
}

static void slow_primaries(hpcb_sim_state_t *state, hpcb_sim_node_t *node)
{
    bool slow = hpcb_sim_slows(state, node);

    if (slow == node->slows)
        return;
    for (uint32_t i = node->primaries; i != HPCB_SIM_NONE;
         i = state->part[i].next_here) {
        uint32_t job = state->part[i].job;

        state->run[job].slowed += slow ? 1 : -1U;
        hpcb_sim_speed_primary(state, job);
    }
    node->slows = slow;
}

void hpcb_sim_update(hpcb_sim_state_t *state, uint32_t at)
{
    hpcb_sim_node_t *node = &state->node[at];

    hpcb_sim_places_set(&state->places, at, node->free, room(state, node));
    if (hpcb_sim_preempts(state))
        hpcb_sim_places_set(&state->calm, at, node->free,
                            hpcb_sim_guest_memory(state, node));
    if (state->regime == HPCB_SIM_DEDICATED)
        return;
    hpcb_sim_guard_look(state, node);
    hpcb_sim_shelves_move(&state->by_idle, at, idle_level(state, node));
    slow_primaries(state, node);
    hpcb_sim_speed_guests(state, node);
}

static uint32_t new_part(hpcb_sim_state_t *state)
{
    uint32_t found = state->part_free;

    if (found != HPCB_SIM_NONE) {
        state->part_free = state->part[found].next_of_job;
        return found;
    }
    if (state->part_n == state->part_room) {
        uint32_t more = state->part_room > 0 ? 2 * state->part_room : 1024;
        hpcb_sim_part_t *grown = reallocarray(state->part, more, sizeof(*grown));

        if (!grown) {
            state->no_memory = true;
            return HPCB_SIM_NONE;
        }
        state->part = grown;
        state->part_room = more;
    }
    return state->part_n++;
}

/* Return the need of a primary that policy/lend expects: its program is known from
 * earlier runs. */
static int64_t expect(int64_t promised, int64_t used)
{
    hpcb_lend_job_t job = {.promised = (uint64_t)promised * HPCB_SIM_KIB,
                           .reported = true,
                           .used = (uint64_t)used * HPCB_SIM_KIB,
                           .peak = (uint64_t)used * HPCB_SIM_KIB,
                           .profile = (uint64_t)used * HPCB_SIM_KIB};

    return (int64_t)(hpcb_lend_expected(&job, 0) / HPCB_SIM_KIB);
}

uint32_t hpcb_sim_hold(hpcb_sim_state_t *state, uint32_t job, uint32_t at,
                       uint32_t cpus, uint32_t *here)
{
    const hpcb_sim_past_t *past = &state->history->job[job];
    uint32_t i = new_part(state);
    int64_t promised, used;

    if (i == HPCB_SIM_NONE)
        return i;
    promised = hpcb_sim_memory_each(past) * cpus;
    used = past->memory_used / past->cpus * cpus;
    if (used > state->conf->memory)
        used = state->conf->memory;
    state->part[i] = (hpcb_sim_part_t){
        .job = job,
        .node = at,
        .cpus = cpus,
        .next_here = *here,
        .prev_here = HPCB_SIM_NONE,
        .next_of_job = state->run[job].parts,
        .promised = promised,
        .used = used,
        .expected = expect(promised, used),
    };
    if (*here != HPCB_SIM_NONE)
        state->part[*here].prev_here = i;
    *here = i;
    state->run[job].parts = i;
    return i;
}

int64_t hpcb_sim_memory_each(const hpcb_sim_past_t *past)
{
    return past->memory_asked / past->cpus;
}

bool hpcb_sim_primary_fits(const hpcb_sim_state_t *state, uint32_t job)
{
    const hpcb_sim_past_t *past = &state->history->job[job];

    return hpcb_sim_places_fit(&state->places, past->cpus, hpcb_sim_memory_each(past));
}

static void take_cpus(hpcb_sim_state_t *state, uint32_t job, uint32_t at, uint32_t cpus)
{
    hpcb_sim_node_t *node = &state->node[at];
    uint32_t i = hpcb_sim_hold(state, job, at, cpus, &node->primaries);

    if (i == HPCB_SIM_NONE)
        return;
    node->free -= cpus;
    node->load += (double)cpus * (double)state->history->job[job].load;
    node->promised += state->part[i].promised;
    node->used += state->part[i].used;
    node->expected += state->part[i].expected;
    state->run[job].slowed += node->slows;
    hpcb_sim_make_room(state, node);
    hpcb_sim_update(state, at);
}

/* The node for the next part of a job, where, as Slurm has it, no guest need go if
 * there is such a place. */
static uint32_t find_node(const hpcb_sim_state_t *state, uint32_t cpus, int64_t each)
{
    uint32_t at;

    if (hpcb_sim_preempts(state)) {
        at = hpcb_sim_places_find(&state->calm, cpus, each);
        if (at != HPCB_SIM_NONE &&
            hpcb_sim_places_gives(&state->calm, at, each) >= cpus)
            return at;
    }
    return hpcb_sim_places_find(&state->places, cpus, each);
}

void hpcb_sim_start_primary(hpcb_sim_state_t *state, uint32_t job)
{
    const hpcb_sim_past_t *past = &state->history->job[job];
    int64_t each = hpcb_sim_memory_each(past), limit;
    bool calm =
        hpcb_sim_preempts(state) && hpcb_sim_places_fit(&state->calm, past->cpus, each);
    const hpcb_sim_places_t *places = calm ? &state->calm : &state->places;
    uint32_t left = past->cpus;

    hpcb_sim_begin_job(state, job);
    while (left > 0 && !state->no_memory) {
        uint32_t most = left < state->conf->cpus ? left : state->conf->cpus;
        uint32_t at = calm ? hpcb_sim_places_find(places, most, each)
                           : find_node(state, most, each);
        uint32_t gives = hpcb_sim_places_gives(places, at, each);

        gives = gives < left ? gives : left;
        take_cpus(state, job, at, gives);
        left -= gives;
    }
    hpcb_sim_speed_primary(state, job);
    limit = hpcb_sim_limit_ns(state, job);
    hpcb_sim_plan_add(&state->plan, limit, past->cpus);
    hpcb_sim_plan_add(&state->memory_plan, limit, each * past->cpus);
}

static void give_back(hpcb_sim_state_t *state, const hpcb_sim_part_t *part, bool guest)
{
    const hpcb_sim_past_t *past = &state->history->job[part->job];
    hpcb_sim_node_t *node = &state->node[part->node];
    uint32_t *here = guest ? &node->guests : &node->primaries;
    double load = (double)part->cpus * (double)past->load;

    if (part->prev_here == HPCB_SIM_NONE)
        *here = part->next_here;
    else
        state->part[part->prev_here].next_here = part->next_here;
    if (part->next_here != HPCB_SIM_NONE)
        state->part[part->next_here].prev_here = part->prev_here;
    if (guest) {
        node->guest_cpus -= part->cpus;
        node->guest_memory -= hpcb_sim_guest_asks(state, past);
        if (!hpcb_sim_is_stopped(part)) {
            node->running--;
            node->guest_load = node->running > 0 ? node->guest_load - load : 0;
        }
    } else {
        node->free += part->cpus;
        node->load = node->free < state->conf->cpus ? node->load - load : 0;
        node->promised -= part->promised;
        node->used -= part->used;
        node->expected -= part->expected;
    }
}

void hpcb_sim_release(hpcb_sim_state_t *state, uint32_t job)
{
    hpcb_sim_running_t *run = &state->run[job];
    const hpcb_sim_past_t *past = &state->history->job[job];
    bool guest = hpcb_sim_overlaid(state, job);
    int64_t limit = hpcb_sim_limit_ns(state, job);

    run->version++;
    while (run->parts != HPCB_SIM_NONE) {
        uint32_t i = run->parts, at = state->part[i].node;

        run->parts = state->part[i].next_of_job;
        give_back(state, &state->part[i], guest);
        state->part[i].next_of_job = state->part_free;
        state->part_free = i;
        hpcb_sim_update(state, at);
    }
    if (!guest) {
        hpcb_sim_plan_add(&state->plan, limit, -(int64_t)past->cpus);
        hpcb_sim_plan_add(&state->memory_plan, limit,
                          -hpcb_sim_memory_each(past) * past->cpus);
    }
    state->guests_changed = true;
}
