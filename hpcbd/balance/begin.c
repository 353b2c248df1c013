/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Whether balancing can gain anything: ranks with a core each gain nothing by weights,
 * and ranks that Slurm has bound to several CPUs each have those to themselves.
 * Unbound ranks first get a CPU each, by number, if the policy also places them
 * (policy/balance.h); otherwise they stay unbound.
 *
 * A step may have hundreds of ranks, each of which costs dozens of system calls here,
 * so a few are handled at a time.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/frequency.h"
#include "cgroup/task.h"
#include "common/state.h"
#include "hpcbd/balance/begin.h"
#include "hpcbd/balance/move.h"
#include "hpcbd/balance/places.h"
#include "hpcbd/balance/stage.h"

/* A rank is let alone for so long after its start, and so long at most until its
 * threads may all run in the same places. */
#define INIT_MS    2000
#define SETTLED_MS 10000

static int64_t age_ms(uint64_t start_ticks)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 -
           (int64_t)(start_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* A program that binds its threads differently for good is left to hpcb_rank_pin() to
 * refuse. */
static bool has_settled(pid_t pid, int64_t age)
{
    char mask[HPCB_TASK_TEXT_MAX];

    return age >= SETTLED_MS ||
           hpcb_task_get(pid, "process-affinity", mask, sizeof(mask), NULL) == 0;
}

/* Before that, Slurm still binds it, and hwloc in MPI_Init() each of its threads in
 * turn to every CPU for a moment (x86). */
static bool has_begun(const hpcbd_rank_t *rank)
{
    int64_t age = age_ms(rank->start);

    return age >= INIT_MS && hpcb_task_begun(rank->pid) && has_settled(rank->pid, age);
}

bool hpcbd_begin_wait(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit)
{
    unsigned end = hpcbd_stage_slice(unit);

    for (; unit->at < end && hpcb_node_live(env->node); unit->at++) {
        if (has_begun(&unit->rank[unit->at]))
            continue;
        unit->waits = true;
        unit->at = 0;
        return false;
    }
    unit->at = end;
    return hpcbd_stage_go_on(unit, HPCBD_UNIT_PLACES);
}

/* On cgroup v1 both windows and we want the tasks in a group of ours. */
static int check_windows(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit)
{
    hpcb_job_state_t job;

    if (hpcb_node_version(env->node, HPCB_CTL_CPU) != 1 ||
        hpcb_state_load(env->conf->state_dir, unit->job_id, &job, NULL) < 0 ||
        job.window.period_us == 0)
        return 0;
    return hpcb_error(&unit->why, "the job has windows, and this node cgroup v1");
}

/* Add a rank to what is known of where they may run. */
static int note_bound(hpcbd_unit_t *unit, unsigned rank)
{
    hpcbd_bound_t *bound = &unit->bound;
    hpcb_cpus_t mask;

    if (!hpcbd_rank_lives(&unit->rank[rank]))
        return hpcb_error(&unit->why, "task %d has ended", (int)unit->rank[rank].pid);
    if (hpcb_task_cpus(unit->rank[rank].pid, &mask, &unit->why) < 0)
        return -1;
    if (rank == 0)
        *bound = (hpcbd_bound_t){.all = mask, .single = true, .same = true};
    bound->same = bound->same && hpcb_cpus_equal(&mask, &bound->all);
    bound->single = bound->single && hpcb_cpus_count(&mask) == 1;
    bound->cpu[rank] = (uint16_t)hpcb_cpus_from(&mask, 0);
    hpcb_cpus_join(&bound->all, &mask);
    return 0;
}

/* Ranks that may run anywhere are better placed by the kernel than by number, unless
 * the policy goes on to place them by load.  Among them each competes with each. */
static void leave_free(hpcbd_unit_t *unit)
{
    static const uint16_t at[HPCB_RANKS_MAX];

    unit->free = true;
    unit->places.n = 1;
    unit->conf.linear = true;
    hpcb_balance_begin(&unit->conf, &unit->places, unit->n, at, &unit->balance);
}

/* Only the power of the node can be shifted between ranks.  Policies that place ranks,
 * or compare those of a core, have no effect here: adaptive does. */
static int begin_hints(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit,
                       const uint16_t *at)
{
    static const char *const nothing =
        "each rank has a core to itself: weights move nothing";
    hpcb_error_t err;

    if (!env->conf->balance_frequency || !unit->bound.single)
        return hpcb_error(&unit->why, "%s", nothing);
    for (unsigned i = 0; i < unit->n; i++)
        if (hpcb_frequency_probe(env->node, unit->bound.cpu[i], &err) < 0)
            return hpcb_error(&unit->why, "%s; %s", nothing, err.text);
    if (hpcb_balance_places_ranks(&unit->conf))
        unit->conf.kind = HPCB_BALANCE_ADAPTIVE;
    unit->hints = true;
    hpcb_balance_begin(&unit->conf, &unit->places, unit->n, at, &unit->balance);
    return 0;
}

/* Find the first place of each rank, and whether anything can be gained; -1 with the
 * reason. */
static int place(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit)
{
    const hpcbd_bound_t *bound = &unit->bound;
    uint16_t at[HPCB_RANKS_MAX];

    if (hpcbd_places(env->node, &bound->all, &unit->places, &unit->why) < 0)
        return -1;
    unit->n_cpus = unit->places.n;
    if (!bound->single && !bound->same)
        return hpcb_error(&unit->why, "ranks are bound to several CPUs each");
    if (!bound->single && unit->job_cpus > 0 && unit->places.n > unit->job_cpus)
        return hpcb_error(&unit->why, "ranks are not bound to the job's CPUs");
    for (unsigned i = 0; bound->single && i < unit->n; i++)
        at[i] = (uint16_t)hpcbd_place_of(&unit->places, bound->cpu[i]);
    unit->conf.linear = !hpcbd_places_smt(&unit->places);
    if (hpcb_balance_begin(&unit->conf, &unit->places, unit->n,
                           bound->single ? at : NULL, &unit->balance))
        return hpcb_error(&unit->why, "%u ranks on %u CPUs", unit->n, unit->places.n);
    if (hpcb_balance_groups(&unit->places, &unit->balance) == 0)
        return begin_hints(env, unit, at);
    unit->pins = !bound->single && hpcb_balance_places_ranks(&unit->conf);
    if (!bound->single && !unit->pins)
        leave_free(unit);
    return 0;
}

bool hpcbd_begin_place(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit)
{
    unsigned end = hpcbd_stage_slice(unit);

    for (; unit->at < end; unit->at++)
        if (note_bound(unit, unit->at) < 0)
            return hpcbd_stage_refuse(unit);
    if (end == unit->n &&
        (check_windows(env, unit) < 0 || place(env, unit) < 0 ||
         hpcb_undo_open(env->state_dir, unit->job_id, &unit->undo, &unit->why) < 0))
        return hpcbd_stage_refuse(unit);
    return hpcbd_stage_go_on(unit, HPCBD_UNIT_GATHERS);
}

/* Only our groups require a move. */
bool hpcbd_begin_gather(hpcbd_unit_t *unit)
{
    hpcb_rank_spec_t spec = hpcbd_stage_spec(unit, 0);

    if (!unit->gathered && hpcb_node_live(spec.node) && hpcb_rank_moves(&spec)) {
        unit->gathered = true;
        hpcbd_move_start(unit, hpcb_rank_gather);
    }
    if (!hpcbd_move_ended(unit, false))
        return false;
    unit->at = unit->n;
    return hpcbd_stage_go_on(unit, HPCBD_UNIT_TAKES);
}

static int take_hands(hpcbd_unit_t *unit, unsigned rank)
{
    hpcb_rank_spec_t spec = hpcbd_stage_spec(unit, rank);

    if (hpcb_rank_open(&spec, &unit->rank[rank].hands, &unit->why) < 0)
        return -1;
    for (unsigned i = 0; i < rank; i++)
        if (strcmp(hpcb_rank_group(unit->rank[rank].hands),
                   hpcb_rank_group(unit->rank[i].hands)) == 0)
            return hpcb_error(&unit->why, "ranks have no cpu groups of their own");
    return 0;
}

/* That of the slowest rank: they wait for one another. */
static void note_usual(hpcbd_unit_t *unit, double seconds)
{
    if (seconds > unit->usual)
        unit->usual = seconds;
}

static int take_rank(hpcbd_unit_t *unit, unsigned rank)
{
    char path[PATH_MAX + 16];

    if (take_hands(unit, rank) < 0 ||
        (unit->pins && hpcbd_stage_pin(unit, rank, &unit->why) < 0))
        return -1;
    if (!*unit->page)
        return 0;
    snprintf(path, sizeof(path), "%s.%u", unit->page, rank);
    hpcbd_rank_page(&unit->rank[rank], path, unit->uid);
    note_usual(unit, hpcbd_rank_usual(&unit->rank[rank]));
    return 0;
}

bool hpcbd_begin_take(hpcbd_unit_t *unit)
{
    unsigned end = hpcbd_stage_slice(unit);

    for (; unit->at < end; unit->at++)
        if (take_rank(unit, unit->at) < 0)
            return hpcbd_stage_refuse(unit);
    if (end < unit->n)
        return false;
    hpcbd_stage_begun(unit);
    return true;
}
