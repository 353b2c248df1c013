/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Speeds and ends of jobs. */
#include "config.h"

#include "sim/cluster_parts.h"

#define LATEST 9e18 /* nanoseconds: what comes later does not come */

void hpcb_sim_begin_job(hpcb_sim_state_t *state, uint32_t job)
{
    const hpcb_sim_past_t *past = &state->history->job[job];
    hpcb_sim_running_t *run = &state->run[job];

    run->start_ns = run->since_ns = state->now_ns;
    run->next_ns = HPCB_SIM_NEVER;
    /* One that used up its limit in the history would have gone on. */
    run->left_ns = past->limited ? LATEST : (double)past->run * (double)HPCB_SIM_SECOND;
    run->rate = 0;
    run->slowed = 0;
    run->parts = HPCB_SIM_NONE;
}

int64_t hpcb_sim_limit_ns(const hpcb_sim_state_t *state, uint32_t job)
{
    const hpcb_sim_past_t *past = &state->history->job[job];
    double limit = (double)past->limit * (double)HPCB_SIM_SECOND, end;

    if (hpcb_sim_overlaid(state, job))
        limit *= state->conf->guest_limit;
    end = (double)state->run[job].start_ns + limit;
    return end < LATEST ? state->run[job].start_ns + (int64_t)limit : (int64_t)LATEST;
}

double hpcb_sim_done_ns(const hpcb_sim_state_t *state, uint32_t job)
{
    const hpcb_sim_past_t *past = &state->history->job[job];
    const hpcb_sim_running_t *run = &state->run[job];
    double work = past->limited ? LATEST : (double)past->run * (double)HPCB_SIM_SECOND;
    double left = run->left_ns - (double)(state->now_ns - run->since_ns) * run->rate;

    return work - (left > 0 ? left : 0);
}

/* Find the job's next event. */
static int64_t find_next(const hpcb_sim_state_t *state, uint32_t job, int64_t check_ns,
                         hpcb_sim_next_t *what)
{
    const hpcb_sim_running_t *run = &state->run[job];
    const hpcb_sim_past_t *past = &state->history->job[job];
    int64_t limit = past->limit_known ? hpcb_sim_limit_ns(state, job) : HPCB_SIM_NEVER;
    int64_t next = HPCB_SIM_NEVER;

    *what = HPCB_SIM_ENDS;
    if (run->rate > 0 && (double)state->now_ns + run->left_ns / run->rate < LATEST)
        next = (int64_t)((double)state->now_ns + run->left_ns / run->rate) + 1;
    if (limit < next) {
        *what = HPCB_SIM_LIMIT;
        next = limit;
    }
    if (check_ns < next) {
        *what = HPCB_SIM_CHECK;
        next = check_ns;
    }
    return next;
}

/* The job goes on with another speed, or is to be checked at another time. */
static void set_rate(hpcb_sim_state_t *state, uint32_t job, double rate,
                     int64_t check_ns)
{
    hpcb_sim_running_t *run = &state->run[job];
    hpcb_sim_event_t event = {.id = job};
    hpcb_sim_next_t what;

    if (run->rate == rate && run->next_ns != HPCB_SIM_NEVER &&
        (run->next_is == HPCB_SIM_CHECK ? check_ns == run->next_ns
                                        : check_ns >= run->next_ns))
        return;
    run->left_ns -= (double)(state->now_ns - run->since_ns) * run->rate;
    if (run->left_ns < 0)
        run->left_ns = 0;
    run->since_ns = state->now_ns;
    run->rate = rate;
    run->version++;
    run->next_ns = find_next(state, job, check_ns, &what);
    run->next_is = what;
    if (run->next_ns == HPCB_SIM_NEVER)
        return;
    event.at_ns = run->next_ns;
    event.version = run->version;
    if (hpcb_sim_heap_push(&state->heap, event) < 0)
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
    return 1 / (1 + state->conf->guest_cost * state->guest_time);
}

void hpcb_sim_speed_primary(hpcb_sim_state_t *state, uint32_t job)
{
    set_rate(state, job, primary_rate(state, job), HPCB_SIM_NEVER);
}

/* Of what guests on the node would like to run. */
static double guest_rate(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    double cpus = state->conf->cpus, share = state->conf->nice_share;
    double free = node->free, busy = cpus - free, idle, beside, rate;

    if (state->regime != HPCB_SIM_NICE) {
        idle = cpus - node->load;
        rate = node->guest_load > 0 ? idle / node->guest_load : 1;
        rate = rate > 1 ? 1 : rate < 0 ? 0 : rate;
        return node->primaries == HPCB_SIM_NONE ? rate : rate * state->guest_time;
    }
    if (node->guest_cpus <= node->free)
        return 1;
    beside = node->guest_cpus - free;
    idle = 1 - node->load / busy;
    return (free + beside * (idle + share * (1 - idle))) / node->guest_cpus;
}

void hpcb_sim_speed_guests(hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    double rate = guest_rate(state, node), cpus = state->conf->cpus;
    double idle = (cpus - node->load - rate * node->guest_load) / cpus;

    for (uint32_t i = node->guests; i != HPCB_SIM_NONE; i = state->part[i].next_here) {
        hpcb_sim_part_t *part = &state->part[i];

        hpcb_sim_guard_note(state, part, rate, idle);
        set_rate(state, part->job, hpcb_sim_is_stopped(part) ? 0 : rate,
                 part->guarded.check_ns);
    }
}

bool hpcb_sim_slows(const hpcb_sim_state_t *state, const hpcb_sim_node_t *node)
{
    return state->regime == HPCB_SIM_NICE ? node->guest_cpus > node->free
                                          : node->running > 0;
}
