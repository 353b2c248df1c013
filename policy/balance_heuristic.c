/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/balance_parts.h"

/*
 * Uniform and adaptive (section 4.3.2).  The text does not define what happens to a
 * rank of medium utilization and by how much the others change.  Here a medium rank
 * keeps its priority, and the others change by one, so that the "one or two iterations"
 * of the text are enough.  Nothing changes while the job is balanced, that is, unless
 * one rank is high and another low.
 */

/* U_i = G U_g(i - 1) + L U_l(i), U_g being the mean over all iterations before. */
static double adaptive(const hpcb_balance_conf_t *conf, const hpcb_balance_rank_t *rank)
{
    double g = conf->global / 100.0;
    double before = rank->total - rank->elapsed;

    if (before <= 0)
        return rank->util;
    return g * (rank->total_compute - rank->compute) / before + (1 - g) * rank->util;
}

static double uniform(const hpcb_balance_rank_t *rank)
{
    return rank->total > 0 ? rank->total_compute / rank->total : 0;
}

static void judge(const hpcb_balance_conf_t *conf, hpcb_balance_kind_t kind,
                  hpcb_balance_t *balance, bool *any_high, bool *any_low)
{
    *any_high = *any_low = false;
    for (unsigned i = 0; i < balance->n; i++) {
        hpcb_balance_rank_t *rank = &balance->rank[i];

        if (!rank->known)
            continue;
        rank->smooth =
            kind == HPCB_BALANCE_ADAPTIVE ? adaptive(conf, rank) : uniform(rank);
        *any_high = *any_high || rank->smooth * 100 > conf->high_util;
        *any_low = *any_low || rank->smooth * 100 < conf->low_util;
    }
}

static unsigned next_priority(const hpcb_balance_conf_t *conf,
                              const hpcb_balance_rank_t *rank)
{
    unsigned priority = rank->priority;

    if (rank->smooth * 100 > conf->high_util && priority < conf->priority_max)
        return priority + 1;
    if (rank->smooth * 100 < conf->low_util && priority > conf->priority_min)
        return priority - 1;
    return priority;
}

unsigned hpcb_balance_heuristic(const hpcb_balance_conf_t *conf,
                                hpcb_balance_kind_t kind, hpcb_balance_t *balance)
{
    bool high, low, changed = false;

    judge(conf, kind, balance, &high, &low);
    if (!high || !low)
        return 0;
    for (unsigned i = 0; i < balance->n; i++) {
        hpcb_balance_rank_t *rank = &balance->rank[i];
        unsigned priority = rank->known ? next_priority(conf, rank) : rank->priority;

        changed = changed || priority != rank->priority;
        rank->priority = (uint8_t)priority;
    }
    return changed ? HPCB_BALANCE_REPRIORITIZED : 0;
}
