/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#ifndef HPCB_TESTS_POLICY_RANDOM_H
#define HPCB_TESTS_POLICY_RANDOM_H

#include <stdint.h>

/* Return a number between 0 and 1, evenly spread.  SplitMix64: successive numbers of
 * rand_r are correlated. */
static inline double random_part(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

#endif
