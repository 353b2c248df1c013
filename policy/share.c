/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/share.h"

/* kernel/sched: min_cfs_quota_period; max_cfs_quota_period is a second. */
#define LEAST_QUOTA_US 1000
#define MOST_PERIOD_US 1000000

/* The R of difference 5 as far as weights go: what formula 2.1 would give. */
#define TRANSPARENT_SLOTS 64

#define PPR_HIGHEST 4
#define PPR_LOWEST  2

static const struct {
    unsigned slots; /* R */
    uint32_t time;
} table[HPCB_SHARE_DIFFERENCE_MAX + 1] = {
    {2, 1000000}, {4, 500000}, {8, 250000}, {16, 125000}, {32, 62500}, {0, 10000},
};

static unsigned row(unsigned difference)
{
    return difference < HPCB_SHARE_DIFFERENCE_MAX ? difference
                                                  : HPCB_SHARE_DIFFERENCE_MAX;
}

unsigned hpcb_share_slots(unsigned difference)
{
    return table[row(difference)].slots;
}

uint32_t hpcb_share_time(unsigned difference)
{
    return table[row(difference)].time;
}

uint64_t hpcb_share_quota(uint64_t share, uint64_t period_us)
{
    uint64_t period = period_us < MOST_PERIOD_US ? period_us : MOST_PERIOD_US;
    uint64_t quota = share / HPCB_SHARE_ONE * period +
                     share % HPCB_SHARE_ONE * period / HPCB_SHARE_ONE;

    return quota > LEAST_QUOTA_US ? quota : LEAST_QUOTA_US;
}

static uint32_t weight_slots(unsigned difference)
{
    unsigned slots = hpcb_share_slots(difference);

    return slots > 0 ? slots : TRANSPARENT_SLOTS;
}

uint32_t hpcb_share_weight(unsigned difference, uint32_t top)
{
    uint32_t parts = weight_slots(difference) - 1;
    uint32_t weight = top / parts + (top % parts * 2 >= parts ? 1 : 0);

    return weight > 0 ? weight : 1;
}

unsigned hpcb_share_ppr(unsigned difference)
{
    return difference < PPR_HIGHEST - PPR_LOWEST ? PPR_HIGHEST - difference
                                                 : PPR_LOWEST;
}
