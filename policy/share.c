/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/share.h"

/* kernel/sched: min_cfs_quota_period; max_cfs_quota_period is a second. */
#define LEAST_QUOTA_US 1000
#define MOST_PERIOD_US 1000000

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
