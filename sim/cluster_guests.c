/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Guests: where they start, and when they have to go. */
#include "config.h"

#include "policy/lend.h"
#include "sim/cluster_parts.h"

#define LOOKS 16 /* at nodes, for a guest */

/* Return what an empty node lends. */
static int64_t most_lent(const hpcb_sim_state_t *state)
{
    uint64_t real = (uint64_t)state->conf->memory * HPCB_SIM_KIB;

    return (int64_t)(hpcb_lend_free(real, state->reserve, 0, 0) / HPCB_SIM_KIB);
}

int64_t hpcb_sim_guest_memory(const hpcb_sim_state_t *state,
                              const hpcb_sim_node_t *node)
{
    uint64_t real = (uint64_t)state->conf->memory * HPCB_SIM_KIB;

    if (state->regime != HPCB_SIM_GUESTS_MEMORY)
        return state->conf->memory - node->promised - node->guest_memory;
    return (int64_t)(hpcb_lend_free(real, state->reserve,
                                    (uint64_t)node->expected * HPCB_SIM_KIB,
                                    (uint64_t)node->guest_memory * HPCB_SIM_KIB) /
                     HPCB_SIM_KIB);
}

/* A guest that asks for more than an empty node lends would never start: it is taken to
 * ask for that. */
int64_t hpcb_sim_guest_asks(const hpcb_sim_state_t *state, const hpcb_sim_past_t *past)
{
    int64_t asks = hpcb_sim_memory_each(past) * past->cpus;
    int64_t most =
        state->regime == HPCB_SIM_GUESTS_MEMORY ? most_lent(state) : INT64_MAX;

    return asks > most ? most : asks;
}

static bool takes(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node,
                  uint32_t job)
{
    const hpcb_sim_past_t *past = &state->history->job[job];

    return node->guest_cpus + past->cpus <= state->conf->cpus &&
           hpcb_sim_guest_memory(state, node) >= hpcb_sim_guest_asks(state, past) &&
           (!state->run[job].starved || hpcb_sim_guard_has_room(state, node));
}

static uint32_t guest_node(const hpcb_sim_state_t *state, uint32_t job)
{
    unsigned looks = 0;

    for (uint32_t level = state->by_idle.levels - 1; level > 0; level--) {
        for (uint32_t at = state->by_idle.first[level];
             at != HPCB_SIM_NONE && looks < LOOKS; at = state->by_idle.next[at]) {
            if (takes(state, &state->node[at], job))
                return at;
            looks++;
        }
    }
    return HPCB_SIM_NONE;
}

bool hpcb_sim_start_guest(hpcb_sim_state_t *state, uint32_t job)
{
    const hpcb_sim_past_t *past = &state->history->job[job];
    uint32_t at = guest_node(state, job), i;
    hpcb_sim_node_t *node;

    if (at == HPCB_SIM_NONE)
        return false;
    node = &state->node[at];
    hpcb_sim_begin_job(state, job);
    i = hpcb_sim_hold(state, job, at, past->cpus, &node->guests);
    if (i == HPCB_SIM_NONE)
        return false;
    hpcb_sim_guard_begin(state, &state->part[i]);
    node->guest_cpus += past->cpus;
    node->running++;
    node->guest_load += (double)past->cpus * (double)past->load;
    node->guest_memory += hpcb_sim_guest_asks(state, past);
    hpcb_sim_update(state, at);
    return true;
}

static void evict(hpcb_sim_state_t *state, uint32_t job)
{
    hpcb_sim_count_lost(state, job);
    hpcb_sim_release(state, job);
    if (!state->conf->no_requeue)
        hpcb_sim_enqueue_first(state, &state->guests, job);
}

/* If Slurm does not requeue it, it stays and begins to starve anew. */
void hpcb_sim_requeue_starved(hpcb_sim_state_t *state, uint32_t job)
{
    hpcb_sim_part_t *part = &state->part[state->run[job].parts];

    if (!state->conf->no_requeue) {
        state->sums.starved++;
        state->run[job].starved = true;
        evict(state, job);
        return;
    }
    hpcb_sim_guard_anew(state, part);
    hpcb_sim_update(state, part->node);
}

/* Memory that Slurm promises a primary: guests that have been promised it go. */
static void preempt(hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    while (node->guests != HPCB_SIM_NONE && hpcb_sim_guest_memory(state, node) < 0)
        evict(state, state->part[node->guests].job);
}

/* The guests of a node as policy/memguard sees them, the latest first. */
static size_t see_guests(hpcb_sim_state_t *state, const hpcb_sim_node_t *node,
                         uint64_t *used)
{
    size_t n = 0;

    *used = 0;
    for (uint32_t i = node->guests; i != HPCB_SIM_NONE; i = state->part[i].next_here) {
        uint64_t bytes = (uint64_t)state->part[i].used * HPCB_SIM_KIB;

        *used += bytes;
        state->guest_at[n++] =
            (hpcb_memguest_t){.used = bytes,
                              .begin = state->run[state->part[i].job].start_ns,
                              .own = HPCB_MEMGUARD_NO_LIMIT};
    }
    return n;
}

/* Memory that is lent: policy/memguard has it back once primaries use it. */
static void take_back(hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    uint64_t real = (uint64_t)state->conf->memory * HPCB_SIM_KIB, guests;
    size_t n = see_guests(state, node, &guests);
    hpcb_memnode_t seen = {.real = real,
                           .reserve = state->reserve,
                           .primaries = (uint64_t)node->used * HPCB_SIM_KIB};
    hpcb_memdecision_t decision;
    uint32_t next, i = node->guests;

    seen.available =
        real > seen.primaries + guests ? real - seen.primaries - guests : 0;
    hpcb_memguard_decide(&seen, state->guest_at, n, &decision);
    for (size_t at = 0; at < n; at++, i = next) {
        next = state->part[i].next_here;
        if (state->guest_at[at].end)
            evict(state, state->part[i].job);
    }
}

void hpcb_sim_make_room(hpcb_sim_state_t *state, hpcb_sim_node_t *node)
{
    if (node->guests == HPCB_SIM_NONE)
        return;
    if (hpcb_sim_preempts(state))
        preempt(state, node);
    else if (state->regime == HPCB_SIM_GUESTS_MEMORY)
        take_back(state, node);
}
