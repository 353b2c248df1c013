/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "policy/busy.h"

#define FORGET_US 60000000.0

static void begin(hpcb_busy_t *busy, uint64_t usage_us, uint64_t time_us)
{
    *busy = (hpcb_busy_t){.begun = true, .usage_us = usage_us, .time_us = time_us};
}

/* Return the weight of a sample of that length: its part of the total time, or of the
 * last minute if that is shorter. */
static double weight(const hpcb_busy_t *busy, uint64_t length_us)
{
    double length = (double)length_us, seen = (double)busy->seen_us;

    return length / ((seen < FORGET_US ? seen : FORGET_US) + length);
}

void hpcb_busy_add(hpcb_busy_t *busy, uint64_t usage_us, uint64_t time_us)
{
    uint64_t length = time_us - busy->time_us;
    double cpus;

    if (!busy->begun || usage_us < busy->usage_us || time_us < busy->time_us) {
        begin(busy, usage_us, time_us);
        return;
    }
    if (length == 0)
        return;
    cpus = (double)(usage_us - busy->usage_us) / (double)length;
    busy->mean += weight(busy, length) * (cpus - busy->mean);
    busy->seen_us += length;
    busy->usage_us = usage_us;
    busy->time_us = time_us;
}

bool hpcb_busy_cpus(const hpcb_busy_t *busy, uint64_t *millionths)
{
    if (busy->seen_us < HPCB_BUSY_SETTLE_US)
        return false;
    *millionths = (uint64_t)(busy->mean * 1e6 + 0.5);
    return true;
}
