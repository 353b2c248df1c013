/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "sim/exchange.h"

/* The logarithm to the base of 2, rounded up; a rank alone has a round with itself. */
static unsigned rounds_of_barrier(unsigned n)
{
    unsigned rounds = 1;

    while (1U << rounds < n)
        rounds++;
    return rounds;
}

hpcb_sim_exchange_t hpcb_sim_exchange(unsigned n, bool ring, unsigned calls)
{
    return (hpcb_sim_exchange_t){.n = n,
                                 .calls = calls,
                                 .rounds = ring ? 1 : rounds_of_barrier(n),
                                 .ring = ring};
}

bool hpcb_sim_exchange_has(const hpcb_sim_exchange_t *exchange, const int64_t sent[],
                           unsigned rank)
{
    unsigned n = exchange->n, away;

    if (exchange->ring)
        return sent[(rank + 1) % n] >= sent[rank] &&
               sent[(rank + n - 1) % n] >= sent[rank];
    away = 1U << (sent[rank] - 1) % exchange->rounds;
    return sent[(rank + n - away % n) % n] >= sent[rank];
}

bool hpcb_sim_exchange_ends_call(const hpcb_sim_exchange_t *exchange, int64_t number)
{
    return number % exchange->rounds == 0;
}

bool hpcb_sim_exchange_ends(const hpcb_sim_exchange_t *exchange, int64_t number)
{
    return number % ((int64_t)exchange->rounds * exchange->calls) == 0;
}
