/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/balance_parts.h"
#include "policy/share.h"

static bool is_beside(const hpcb_balance_places_t *places, unsigned a, unsigned b,
                      bool whole_core)
{
    const hpcb_balance_place_t *one = &places->place[a], *other = &places->place[b];

    return a == b ||
           (whole_core && one->core == other->core && one->package == other->package);
}

/* By how much rank is below the highest of its CPU, or of its core. */
static unsigned below(const hpcb_balance_places_t *places,
                      const hpcb_balance_t *balance, unsigned rank, bool whole_core)
{
    unsigned own = balance->rank[rank].priority, highest = own;

    for (unsigned i = 0; i < balance->n; i++) {
        const hpcb_balance_rank_t *other = &balance->rank[i];

        if (other->priority > highest &&
            is_beside(places, balance->rank[rank].place, other->place, whole_core))
            highest = other->priority;
    }
    return highest - own;
}

uint32_t hpcb_balance_weight(const hpcb_balance_places_t *places,
                             const hpcb_balance_t *balance, unsigned rank, uint32_t top)
{
    return hpcb_share_weight(below(places, balance, rank, false), top);
}

uint32_t hpcb_balance_time(const hpcb_balance_places_t *places,
                           const hpcb_balance_t *balance, unsigned rank)
{
    return hpcb_share_time(below(places, balance, rank, true));
}

unsigned hpcb_balance_ppr(const hpcb_balance_places_t *places,
                          const hpcb_balance_t *balance, unsigned rank)
{
    return hpcb_share_ppr(below(places, balance, rank, true));
}
