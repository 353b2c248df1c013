/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests that get next to nothing are stopped, and requeued if that lasts, as hpcbd
 * does with policy/guard and its default configuration.  hpcbd takes a step each
 * second; here shares change with events only, and a step is taken then and when it
 * would decide something.
 *
 * GuestMaxSlowdown, the guard's other half: what guests cost (guest_cost) is the same
 * for all, so policy/guard restricts all alike.  It is simulated once, for a primary of
 * a day, with the cost known exactly.
 */
#include "config.h"

#include "sim/cluster_parts.h"

/* hpcbd/harm/crumbs.c's patience; the defaults of GuestMinShare and
 * GuestStarvedAfter. */
static const hpcb_crumbs_conf_t conf = {
    .min_share = 0.01,
    .patience_ns = 10 * HPCB_SIM_SECOND,
    .starved_ns = 600 * HPCB_SIM_SECOND,
};

/* hpcbd/harm/guarded.c's.  Long slices cure no harm by caches and memory, so they are
 * left out. */
static const hpcb_guard_conf_t guard_conf = {
    .look_ns = 60 * HPCB_SIM_SECOND,
    .return_ns = 300 * HPCB_SIM_SECOND,
    .longest_ns = 3600 * HPCB_SIM_SECOND,
};

#define GUARD_DAY_S  86400
#define GUARD_STEP_S 10 /* hpcbd's, from one experiment to the next */

static double time_at(hpcb_guard_level_t level)
{
    unsigned turns = hpcb_guard_turns(level);

    return turns > 0 ? 1.0 / turns : 0;
}

/* Requeued guests are kept off such primaries. */
double hpcb_sim_guest_time(const hpcb_sim_cluster_t *cluster)
{
    hpcb_guard_conf_t policy = guard_conf;
    hpcb_guard_t guard = {.level = HPCB_GUARD_FREE};
    double sum = 0;

    policy.max_slowdown = cluster->max_slowdown;
    if (policy.max_slowdown <= 0)
        return 1;
    for (int s = GUARD_STEP_S; s <= GUARD_DAY_S; s += GUARD_STEP_S) {
        double cost = cluster->guest_cost * time_at(guard.level);
        hpcb_harm_estimate_t known = {.cost = cost,
                                      .low = cost,
                                      .high = cost,
                                      .comparisons = HPCB_HARM_COMPARISONS_MIN};

        if (hpcb_guard_step(&policy, &guard, &known, (uint64_t)s * HPCB_SIM_SECOND) ==
            HPCB_GUARD_REQUEUE)
            return 0;
        sum += time_at(guard.level);
    }
    return sum * GUARD_STEP_S / GUARD_DAY_S;
}

static bool is_guarded(const hpcb_sim_state_t *state)
{
    return state->regime == HPCB_SIM_GUESTS || state->regime == HPCB_SIM_GUESTS_MEMORY;
}

bool hpcb_sim_guard_has_room(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    double cpus = state->conf->cpus, idle = cpus - node->load - node->guest_load;

    if (node->primaries != HPCB_SIM_NONE)
        idle *= state->guest_time;
    return idle >= conf.min_share * cpus;
}

bool hpcb_sim_is_stopped(const hpcb_sim_part_t *part)
{
    return part->guarded.crumbs.stopped;
}

void hpcb_sim_guard_begin(hpcb_sim_state_t *state, hpcb_sim_part_t *part)
{
    part->guarded = (hpcb_sim_guarded_t){.check_ns = HPCB_SIM_NEVER};
    if (is_guarded(state))
        hpcb_crumbs_step(&conf, &part->guarded.crumbs, 0, false,
                         (uint64_t)state->now_ns);
}

/* A guest is stopped, or goes on: what it would use belongs to the node's demand only
 * while it runs. */
static void count_running(const hpcb_sim_state_t *state, const hpcb_sim_part_t *part,
                          bool runs)
{
    hpcb_sim_node_t *node = &state->node[part->node];
    double load = (double)part->cpus * (double)state->history->job[part->job].load;

    node->running += runs ? 1 : -1U;
    node->guest_load += runs ? load : -load;
    if (node->running == 0)
        node->guest_load = 0;
}

void hpcb_sim_guard_anew(hpcb_sim_state_t *state, hpcb_sim_part_t *part)
{
    if (hpcb_sim_is_stopped(part))
        count_running(state, part, true);
    hpcb_sim_guard_begin(state, part);
}

static hpcb_crumbs_verdict_t take_step(hpcb_sim_state_t *state, hpcb_sim_part_t *part)
{
    hpcb_sim_guarded_t *guarded = &part->guarded;
    bool stopped = guarded->crumbs.stopped;
    hpcb_crumbs_verdict_t verdict =
        hpcb_crumbs_step(&conf, &guarded->crumbs, guarded->share, guarded->wants,
                         (uint64_t)state->now_ns);

    if (stopped != guarded->crumbs.stopped)
        count_running(state, part, stopped);
    return verdict;
}

void hpcb_sim_guard_look(hpcb_sim_state_t *state, hpcb_sim_node_t *node)
{
    if (!is_guarded(state))
        return;
    /* A share that has lasted no time says nothing. */
    for (uint32_t i = node->guests; i != HPCB_SIM_NONE; i = state->part[i].next_here)
        if (state->part[i].guarded.crumbs.seen_ns < (uint64_t)state->now_ns)
            take_step(state, &state->part[i]);
}

/* Return the time at which the next step decides something, if nothing changes
 * before. */
static int64_t next_check(const hpcb_sim_state_t *state,
                          const hpcb_sim_guarded_t *guarded)
{
    bool enough = guarded->share >= conf.min_share;
    double lacks = (double)conf.starved_ns - guarded->crumbs.lacks_ns / conf.min_share;
    int64_t second = state->now_ns + HPCB_SIM_SECOND, check;

    if (!guarded->crumbs.stopped) {
        if (enough || !guarded->wants)
            return HPCB_SIM_NEVER;
        check = (int64_t)(guarded->crumbs.since_ns + conf.patience_ns);
    } else {
        check = enough ? second : state->now_ns + (int64_t)lacks;
    }
    return check > second ? check : second;
}

void hpcb_sim_guard_note(hpcb_sim_state_t *state, hpcb_sim_part_t *part, double rate,
                         double idle)
{
    hpcb_sim_guarded_t *guarded = &part->guarded;
    bool stopped = guarded->crumbs.stopped;

    if (!is_guarded(state))
        return;
    guarded->share =
        stopped ? idle : rate * (double)state->history->job[part->job].load;
    guarded->wants = stopped || rate < 1;
    guarded->check_ns = next_check(state, guarded);
}

bool hpcb_sim_guard_check(hpcb_sim_state_t *state, hpcb_sim_part_t *part)
{
    if (take_step(state, part) == HPCB_CRUMBS_REQUEUE)
        return true;
    hpcb_sim_update(state, part->node);
    return false;
}
