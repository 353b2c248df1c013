/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/balance_parts.h"
#include "policy/share.h"

typedef enum { SAME_CPU, OTHER_THREAD } where_t;

static bool is_there(const hpcb_balance_places_t *places, unsigned a, unsigned b,
                     where_t where)
{
    if (where == SAME_CPU)
        return a == b;
    return a != b && hpcb_balance_same_core(places, a, b);
}

/* By how much rank is below the highest of those that are there. */
static unsigned below(const hpcb_balance_places_t *places,
                      const hpcb_balance_t *balance, unsigned rank, where_t where)
{
    unsigned own = balance->rank[rank].priority, highest = own;

    for (unsigned i = 0; i < balance->n; i++) {
        const hpcb_balance_rank_t *other = &balance->rank[i];

        if (other->priority > highest &&
            is_there(places, balance->rank[rank].place, other->place, where))
            highest = other->priority;
    }
    return highest - own;
}

uint32_t hpcb_balance_weight(const hpcb_balance_places_t *places,
                             const hpcb_balance_t *balance, unsigned rank, uint32_t top)
{
    return hpcb_share_weight(below(places, balance, rank, SAME_CPU), top);
}

unsigned hpcb_balance_lag(const hpcb_balance_t *balance, unsigned rank)
{
    unsigned highest = 0;

    for (unsigned i = 0; i < balance->n; i++)
        if (balance->rank[i].priority > highest)
            highest = balance->rank[i].priority;
    return highest - balance->rank[rank].priority;
}

uint32_t hpcb_balance_time(const hpcb_balance_places_t *places,
                           const hpcb_balance_t *balance, unsigned rank)
{
    return hpcb_share_time(below(places, balance, rank, OTHER_THREAD));
}

unsigned hpcb_balance_ppr(const hpcb_balance_places_t *places,
                          const hpcb_balance_t *balance, unsigned rank)
{
    return hpcb_share_ppr(below(places, balance, rank, OTHER_THREAD));
}
