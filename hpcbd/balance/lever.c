/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>

#include "cgroup/knob.h"
#include "common/log.h"
#include "hpcbd/balance/lever.h"
#include "policy/share.h"

void hpcbd_lever_find(hpcbd_unit_t *unit)
{
    unit->weighs = unit->limits = false;
    for (unsigned i = 0; i < unit->n; i++)
        for (unsigned j = 0; j < i; j++) {
            unsigned a = unit->balance.rank[i].place, b = unit->balance.rank[j].place;

            unit->weighs |= a == b;
            unit->limits |= a != b && hpcb_balance_same_core(&unit->places, a, b);
        }
}

const char *hpcbd_lever_name(const hpcbd_unit_t *unit)
{
    if (unit->hints)
        return "frequency";
    if (unit->limits && unit->env->ppr)
        return unit->weighs ? "weight+ppr" : "ppr";
    if (unit->limits)
        return unit->weighs ? "weight+quota" : "quota";
    return unit->weighs ? "weight" : "place";
}

static bool is_lowered(const hpcbd_unit_t *unit, unsigned rank)
{
    return hpcb_waiter_is_lowered(&unit->rank[rank].waiter,
                                  unit->env->conf->balance_waiters, &unit->conf,
                                  &unit->balance);
}

uint32_t hpcbd_lever_weight(const hpcbd_unit_t *unit, unsigned rank)
{
    uint32_t top, weight;

    if (!unit->acting || !unit->rank[rank].hands)
        return 0;
    top = hpcb_rank_top(unit->rank[rank].hands);
    weight = hpcb_balance_weight(&unit->places, &unit->balance, rank, top);
    return is_lowered(unit, rank) ? hpcb_waiter_weight(weight) : weight;
}

/* Return whether another rank is on another thread of its core. */
static bool has_neighbour(const hpcbd_unit_t *unit, unsigned rank)
{
    unsigned own = unit->balance.rank[rank].place;

    for (unsigned i = 0; i < unit->n; i++) {
        unsigned other = unit->balance.rank[i].place;

        if (other != own && hpcb_balance_same_core(&unit->places, own, other))
            return true;
    }
    return false;
}

/* POWER, and the library is there to do it. */
static bool sets_ppr(const hpcbd_unit_t *unit, unsigned rank)
{
    return unit->env->ppr && unit->limits && unit->rank[rank].page >= 0;
}

/* The part of a CPU's time that it may have, in millionths. */
static uint32_t time_of(const hpcbd_unit_t *unit, unsigned rank)
{
    uint32_t time = hpcb_balance_time(&unit->places, &unit->balance, rank);

    if (!unit->limits || sets_ppr(unit, rank))
        return HPCB_SHARE_ONE;
    return is_lowered(unit, rank) && has_neighbour(unit, rank) ? hpcb_waiter_time(time)
                                                               : time;
}

static int hint(hpcbd_unit_t *unit, unsigned rank, hpcb_error_t *err)
{
    if (!unit->hints)
        return 0;
    return hpcb_rank_hint(unit->rank[rank].hands, unit->bound.cpu[rank],
                          hpcb_balance_lag(&unit->balance, rank), err);
}

void hpcbd_lever_pull(hpcbd_unit_t *unit, unsigned rank)
{
    hpcb_rank_t *hands = unit->rank[rank].hands;
    hpcb_error_t err;

    if (sets_ppr(unit, rank))
        hpcbd_rank_ask(&unit->rank[rank],
                       hpcb_balance_ppr(&unit->places, &unit->balance, rank),
                       unit->now_ns);
    if (hpcb_rank_weigh(hands, hpcbd_lever_weight(unit, rank), &err) == 0 &&
        hpcb_rank_limit(hands, time_of(unit, rank), &err) == 0 &&
        hint(unit, rank, &err) == 0)
        return;
    if (hpcb_knob_gone(errno) || unit->why.text[0])
        return;
    unit->why = err;
    hpcb_log(HPCB_LOG_ERROR, "job %u: %s", unit->job_id, err.text);
}
