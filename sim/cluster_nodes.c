/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Who holds what on which node. */
#include "config.h"

#include <stdlib.h>

#include "policy/lend.h"
#include "sim/cluster_parts.h"

#define LOOKS 16 /* at nodes, for a guest */
#define KIB   1024

bool hpcb_sim_overlaid(const hpcb_sim_state_t *state, uint32_t job)
{
    return state->regime != HPCB_SIM_DEDICATED &&
           hpcb_sim_is_guest(state->conf, state->history, job);
}

/* The job goes on with another speed. */
static void set_rate(hpcb_sim_state_t *state, uint32_t job, double rate)
{
    hpcb_sim_running_t *run = &state->run[job];
    double ends;

    if (run->rate == rate && run->since_ns != state->now_ns)
        return;
    run->left_ns -= (double)(state->now_ns - run->since_ns) * run->rate;
    if (run->left_ns < 0)
        run->left_ns = 0;
    run->since_ns = state->now_ns;
    run->rate = rate;
    run->version++;
    if (rate <= 0)
        return;
    ends = (double)state->now_ns + run->left_ns / rate;
    if (ends > 9e18)
        return;
    if (hpcb_sim_heap_push(&state->heap, (hpcb_sim_event_t){.at_ns = (int64_t)ends + 1,
                                                            .id = job,
                                                            .version = run->version}) <
        0)
        state->no_memory = true;
}

static double primary_rate(const hpcb_sim_state_t *state, uint32_t job)
{
    double load = (double)state->history->job[job].load,
           share = state->conf->nice_share;

    if (state->run[job].slowed == 0)
        return 1;
    if (state->regime == HPCB_SIM_NICE)
        return 1 / (load / (1 - share) + 1 - load);
    return 1 / (1 + state->conf->guest_cost);
}

/* Of what guests on the node would like to run. */
static double guest_rate(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    double cpus = state->conf->cpus, share = state->conf->nice_share;
    double free = node->free, busy = cpus - free, idle, beside, rate;

    if (state->regime != HPCB_SIM_NICE) {
        idle = cpus - node->load;
        rate = node->guest_load > 0 ? idle / node->guest_load : 1;
        return rate > 1 ? 1 : rate < 0 ? 0 : rate;
    }
    if (node->guest_cpus <= node->free)
        return 1;
    beside = node->guest_cpus - free;
    idle = 1 - node->load / busy;
    return (free + beside * (idle + share * (1 - idle))) / node->guest_cpus;
}

static bool slows(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    return state->regime == HPCB_SIM_NICE ? node->guest_cpus > node->free
                                          : node->guest_cpus > 0;
}

/* What a guest may have of the node's memory. */
static int64_t guest_memory(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    if (state->regime != HPCB_SIM_GUESTS_MEMORY)
        return state->conf->memory - node->promised - node->guest_memory;
    return (int64_t)(hpcb_lend_free((uint64_t)state->conf->memory * KIB, state->reserve,
                                    (uint64_t)node->expected * KIB,
                                    (uint64_t)node->guest_memory * KIB) /
                     KIB);
}

/* A guest that asks for more than an empty node lends would never start: it is taken to
 * ask for that. */
static int64_t guest_asks(const hpcb_sim_state_t *state, const hpcb_sim_past_t *past)
{
    int64_t most = (int64_t)(hpcb_lend_free((uint64_t)state->conf->memory * KIB,
                                            state->reserve, 0, 0) /
                             KIB);

    return state->regime == HPCB_SIM_GUESTS_MEMORY && past->memory_asked > most
               ? most
               : past->memory_asked;
}

/* Level 0 has nothing for a guest; above, by CPUs that nobody would use. */
static uint32_t idle_level(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    double idle = (double)state->conf->cpus - node->load - node->guest_load;

    if (node->guest_cpus >= state->conf->cpus || guest_memory(state, node) <= 0)
        return 0;
    return idle <= 0 ? 1 : 1 + (uint32_t)idle;
}

/* Something on the node has changed: everybody there may be slower or faster. */
static void update(hpcb_sim_state_t *state, uint32_t at)
{
    hpcb_sim_node_t *node = &state->node[at];
    bool slow = slows(state, node);

    hpcb_sim_shelves_move(&state->by_free, at, node->free);
    if (state->regime == HPCB_SIM_DEDICATED)
        return;
    hpcb_sim_shelves_move(&state->by_idle, at, idle_level(state, node));
    if (slow != node->slows) {
        for (uint32_t i = node->primaries; i != HPCB_SIM_NONE;
             i = state->part[i].next_here) {
            uint32_t job = state->part[i].job;

            state->run[job].slowed += slow ? 1 : -1U;
            set_rate(state, job, primary_rate(state, job));
        }
        node->slows = slow;
    }
    for (uint32_t i = node->guests; i != HPCB_SIM_NONE; i = state->part[i].next_here)
        set_rate(state, state->part[i].job, guest_rate(state, node));
}

static uint32_t new_part(hpcb_sim_state_t *state)
{
    uint32_t found = state->part_free;

    if (found != HPCB_SIM_NONE) {
        state->part_free = state->part[found].next_of_job;
        return found;
    }
    if (state->part_n == state->part_room) {
        uint32_t room = state->part_room > 0 ? 2 * state->part_room : 1024;
        hpcb_sim_part_t *more = reallocarray(state->part, room, sizeof(*more));

        if (!more) {
            state->no_memory = true;
            return HPCB_SIM_NONE;
        }
        state->part = more;
        state->part_room = room;
    }
    return state->part_n++;
}

/* What policy/lend expects a primary to need: its program is known by earlier runs. */
static int64_t expect(int64_t promised, int64_t used)
{
    hpcb_lend_job_t job = {.promised = (uint64_t)promised * KIB,
                           .reported = true,
                           .used = (uint64_t)used * KIB,
                           .peak = (uint64_t)used * KIB,
                           .profile = (uint64_t)used * KIB};

    return (int64_t)(hpcb_lend_expected(&job, 0) / KIB);
}

/* Note that job holds cpus on a node; both lists get it. */
static void hold(hpcb_sim_state_t *state, uint32_t job, uint32_t at, uint32_t cpus,
                 uint32_t *here)
{
    const hpcb_sim_past_t *past = &state->history->job[job];
    uint32_t i = new_part(state);
    int64_t promised, used;

    if (i == HPCB_SIM_NONE)
        return;
    promised = past->memory_asked / past->cpus * cpus;
    used = past->memory_used / past->cpus * cpus;
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
}

static void begin_job(hpcb_sim_state_t *state, uint32_t job)
{
    hpcb_sim_running_t *run = &state->run[job];

    run->start_ns = run->since_ns = state->now_ns;
    run->left_ns = (double)state->history->job[job].run * (double)HPCB_SIM_SECOND;
    run->rate = 0;
    run->slowed = 0;
    run->parts = HPCB_SIM_NONE;
}

static void evict(hpcb_sim_state_t *state, uint32_t job)
{
    hpcb_sim_release(state, job);
    hpcb_sim_enqueue_first(state, &state->guests, job);
    state->evictions++;
}

/* Memory that Slurm promises a primary: guests that have been promised it go. */
static void preempt(hpcb_sim_state_t *state, hpcb_sim_node_t *node)
{
    while (node->guests != HPCB_SIM_NONE && guest_memory(state, node) < 0)
        evict(state, state->part[node->guests].job);
}

/* The guests of a node as policy/memguard sees them, the latest first. */
static size_t see_guests(hpcb_sim_state_t *state, const hpcb_sim_node_t *node,
                         uint64_t *used)
{
    size_t n = 0;

    *used = 0;
    for (uint32_t i = node->guests; i != HPCB_SIM_NONE; i = state->part[i].next_here) {
        uint32_t job = state->part[i].job;
        uint64_t bytes = (uint64_t)state->history->job[job].memory_used * KIB;

        *used += bytes;
        state->guest_at[n++] = (hpcb_memguest_t){.used = bytes,
                                                 .begin = state->run[job].start_ns,
                                                 .own = HPCB_MEMGUARD_NO_LIMIT};
    }
    return n;
}

/* Memory that is lent: policy/memguard has it back once primaries use it. */
static void take_back(hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    uint64_t real = (uint64_t)state->conf->memory * KIB, guests;
    size_t n = see_guests(state, node, &guests);
    hpcb_memnode_t seen = {.real = real,
                           .reserve = state->reserve,
                           .primaries = (uint64_t)node->used * KIB};
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

static void take_cpus(hpcb_sim_state_t *state, uint32_t job, uint32_t at, uint32_t cpus)
{
    hpcb_sim_node_t *node = &state->node[at];
    uint32_t i;

    hold(state, job, at, cpus, &node->primaries);
    i = state->run[job].parts;
    if (i == HPCB_SIM_NONE)
        return;
    node->free -= cpus;
    state->free_cpus -= cpus;
    node->load += (double)cpus * (double)state->history->job[job].load;
    node->promised += state->part[i].promised;
    node->used += state->part[i].used;
    node->expected += state->part[i].expected;
    state->run[job].slowed += node->slows;
    if (state->regime != HPCB_SIM_GUESTS_MEMORY)
        preempt(state, node);
    else if (node->guests != HPCB_SIM_NONE)
        take_back(state, node);
    update(state, at);
}

/* Of the nodes of a level, the first of a few whose guests need not go for that much
 * memory (Slurm, too, tries without preemption first), or else the first. */
static uint32_t calm_node(const hpcb_sim_state_t *state, uint32_t level, int64_t memory,
                          unsigned *looks)
{
    uint32_t at = state->by_free.first[level];

    if (state->regime == HPCB_SIM_DEDICATED || state->regime == HPCB_SIM_GUESTS_MEMORY)
        return at;
    for (; at != HPCB_SIM_NONE && *looks > 0; at = state->by_free.next[at], (*looks)--)
        if (state->node[at].guests == HPCB_SIM_NONE ||
            guest_memory(state, &state->node[at]) >= memory)
            return at;
    return HPCB_SIM_NONE;
}

/* The node that a part of cpus fits into best, or else the emptiest. */
static uint32_t best_node(const hpcb_sim_state_t *state, uint32_t cpus, int64_t memory)
{
    const uint32_t *first = state->by_free.first;
    uint32_t most = state->conf->cpus, at = HPCB_SIM_NONE;
    unsigned looks = LOOKS;

    for (uint32_t level = cpus; level <= most && at == HPCB_SIM_NONE; level++)
        at = calm_node(state, level, memory, &looks);
    for (uint32_t level = cpus; level <= most && at == HPCB_SIM_NONE; level++)
        at = first[level];
    for (uint32_t level = most; level > 0 && at == HPCB_SIM_NONE; level--)
        at = first[level];
    return at;
}

void hpcb_sim_start_primary(hpcb_sim_state_t *state, uint32_t job)
{
    const hpcb_sim_past_t *past = &state->history->job[job];
    uint32_t left = past->cpus;

    begin_job(state, job);
    while (left > 0 && !state->no_memory) {
        uint32_t wanted = left < state->conf->cpus ? left : state->conf->cpus;
        uint32_t at =
            best_node(state, wanted, past->memory_asked / past->cpus * wanted);
        uint32_t cpus = state->node[at].free < left ? state->node[at].free : left;

        take_cpus(state, job, at, cpus);
        left -= cpus;
    }
    set_rate(state, job, primary_rate(state, job));
    hpcb_sim_plan_add(&state->plan,
                      state->run[job].start_ns + past->limit * HPCB_SIM_SECOND,
                      past->cpus);
    state->started++;
}

static uint32_t guest_node(const hpcb_sim_state_t *state, const hpcb_sim_past_t *past)
{
    unsigned looks = 0;

    for (uint32_t level = state->by_idle.levels - 1; level > 0; level--) {
        for (uint32_t at = state->by_idle.first[level];
             at != HPCB_SIM_NONE && looks < LOOKS; at = state->by_idle.next[at]) {
            const hpcb_sim_node_t *node = &state->node[at];

            if (node->guest_cpus + past->cpus <= state->conf->cpus &&
                guest_memory(state, node) >= guest_asks(state, past))
                return at;
            looks++;
        }
    }
    return HPCB_SIM_NONE;
}

bool hpcb_sim_start_guest(hpcb_sim_state_t *state, uint32_t job)
{
    const hpcb_sim_past_t *past = &state->history->job[job];
    uint32_t at = guest_node(state, past);
    hpcb_sim_node_t *node;

    if (at == HPCB_SIM_NONE)
        return false;
    node = &state->node[at];
    begin_job(state, job);
    hold(state, job, at, past->cpus, &node->guests);
    node->guest_cpus += past->cpus;
    node->guest_load += (double)past->cpus * (double)past->load;
    node->guest_memory += guest_asks(state, past);
    update(state, at);
    state->started++;
    return true;
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
        node->guest_load = node->guest_cpus > 0 ? node->guest_load - load : 0;
        node->guest_memory -= guest_asks(state, past);
    } else {
        node->free += part->cpus;
        state->free_cpus += part->cpus;
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

    run->version++;
    while (run->parts != HPCB_SIM_NONE) {
        uint32_t i = run->parts, at = state->part[i].node;

        run->parts = state->part[i].next_of_job;
        give_back(state, &state->part[i], guest);
        state->part[i].next_of_job = state->part_free;
        state->part_free = i;
        update(state, at);
    }
    if (!guest)
        hpcb_sim_plan_add(&state->plan, run->start_ns + past->limit * HPCB_SIM_SECOND,
                          -(int64_t)past->cpus);
    state->guests_changed = true;
}
