/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <stdbool.h>
#include "policy/saturation.h"

#define ALL 1000u

/* For at most HPCB_SATURATION_BURSTS. */
static void sort(uint64_t *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t value = values[i];
        size_t at = i;

        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

static uint64_t thousandths(uint64_t rate, uint64_t idle)
{
    __extension__ unsigned __int128 part = (unsigned __int128)rate * ALL;

    return rate < idle ? (uint64_t)(part / idle) : ALL;
}

static int agree(const uint64_t *sorted, size_t n)
{
    uint64_t median = sorted[n / 2];

    return median > 0 && (sorted[n - 1 - n / 8] - sorted[n / 8]) <=
                             median / ALL * 2 * HPCB_SATURATION_SPREAD;
}

int hpcb_saturation_idle(const hpcb_burst_t *bursts, size_t n,
                         hpcb_saturation_idle_t *idle)
{
    uint64_t memory[HPCB_SATURATION_BURSTS], cache[HPCB_SATURATION_BURSTS];

    if (n < HPCB_SATURATION_LEAST || n > HPCB_SATURATION_BURSTS)
        return -1;
    for (size_t i = 0; i < n; i++) {
        memory[i] = bursts[i].memory;
        cache[i] = bursts[i].cache;
    }
    sort(memory, n);
    sort(cache, n);
    if (!agree(memory, n) || !agree(cache, n))
        return -1;
    *idle = (hpcb_saturation_idle_t){.memory = memory[n / 2], .cache = cache[n / 2]};
    return 0;
}

/* The interval is from the k-th smallest to the k-th largest, counted from 0: as large
 * a k as leaves 2.5 % of a binomial distribution (n, 1/2) on either side. */
static size_t rank_of_bound(size_t n)
{
    double chance = 1, sum;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        chance /= 2;
    sum = chance;
    while (sum <= 0.025) {
        k++;
        chance *= (double)(n - k + 1) / (double)k;
        sum += chance;
    }
    return k > 0 ? k - 1 : 0;
}

static hpcb_saturation_level_t level_of(uint32_t low, uint32_t high)
{
    if (low >= HPCB_SATURATION_FREE_PART)
        return HPCB_SATURATION_FREE;
    if (high < HPCB_SATURATION_FULL_PART)
        return HPCB_SATURATION_FULL;
    return low >= HPCB_SATURATION_FULL_PART && high < HPCB_SATURATION_FREE_PART
               ? HPCB_SATURATION_BUSY
               : HPCB_SATURATION_UNKNOWN;
}

static int is_of_now(const hpcb_burst_t *burst, uint64_t now_us, uint64_t age_us)
{
    return burst->time_us <= now_us && now_us - burst->time_us <= age_us;
}

/* The parts of those that count. */
static size_t take(const hpcb_burst_t *bursts, size_t n, uint64_t now_us,
                   uint64_t age_us, const hpcb_saturation_idle_t *idle, uint64_t *parts,
                   hpcb_saturation_t *verdict)
{
    size_t taken = 0;

    for (size_t i = 0; i < n && i < HPCB_SATURATION_BURSTS; i++) {
        if (!is_of_now(&bursts[i], now_us, age_us))
            continue;
        if (thousandths(bursts[i].cache, idle->cache) < HPCB_SATURATION_CPU_PART)
            verdict->dropped++;
        else
            parts[taken++] = thousandths(bursts[i].memory, idle->memory);
    }
    verdict->bursts = (uint32_t)taken;
    return taken;
}

void hpcb_saturation_judge(const hpcb_burst_t *bursts, size_t n, uint64_t now_us,
                           uint64_t age_us, const hpcb_saturation_idle_t *idle,
                           hpcb_saturation_t *verdict)
{
    uint64_t parts[HPCB_SATURATION_BURSTS];
    size_t taken, k;

    *verdict = (hpcb_saturation_t){.why = HPCB_SATURATION_FEW};
    taken = take(bursts, n, now_us, age_us, idle, parts, verdict);
    if (taken < HPCB_SATURATION_LEAST || idle->memory == 0) {
        if (verdict->dropped > taken)
            verdict->why = HPCB_SATURATION_DISTURBED;
        return;
    }
    sort(parts, taken);
    k = rank_of_bound(taken);
    verdict->part = (uint32_t)parts[taken / 2];
    verdict->low = (uint32_t)parts[k];
    verdict->high = (uint32_t)parts[taken - 1 - k];
    verdict->level = level_of(verdict->low, verdict->high);
    verdict->why = verdict->level == HPCB_SATURATION_UNKNOWN ? HPCB_SATURATION_UNDECIDED
                                                             : HPCB_SATURATION_KNOWN;
}

static unsigned badness(const hpcb_saturation_t *verdict)
{
    static const unsigned ranks[HPCB_SATURATION_LEVELS] = {
        [HPCB_SATURATION_FREE] = 0,
        [HPCB_SATURATION_BUSY] = 1,
        [HPCB_SATURATION_UNKNOWN] = 2,
        [HPCB_SATURATION_FULL] = 3,
    };

    return ranks[verdict->level] * (ALL + 1) + ALL - verdict->part;
}

hpcb_saturation_t hpcb_saturation_worse(const hpcb_saturation_t *a,
                                        const hpcb_saturation_t *b)
{
    return badness(a) >= badness(b) ? *a : *b;
}

const char *hpcb_saturation_name(hpcb_saturation_level_t level)
{
    static const char *const names[HPCB_SATURATION_LEVELS] = {"unknown", "free", "busy",
                                                              "saturated"};

    return names[level];
}

uint64_t hpcb_saturation_age_us(hpcb_saturation_pace_t pace, size_t numa_nodes)
{
    return pace == HPCB_SATURATION_SLOW
               ? 2 * HPCB_SATURATION_AGE_US * (numa_nodes > 0 ? numa_nodes : 1)
               : HPCB_SATURATION_AGE_US;
}

uint64_t hpcb_saturation_pause_us(uint64_t cpu_us, hpcb_saturation_pace_t pace)
{
    bool slow = pace == HPCB_SATURATION_SLOW;
    uint64_t ppm = slow ? HPCB_SATURATION_SLOW_PPM : HPCB_SATURATION_DUTY_PPM;
    uint64_t least = slow ? HPCB_SATURATION_SLOW_PAUSE_US : HPCB_SATURATION_PAUSE_US;
    uint64_t pause = cpu_us * (1000000 / ppm + 1);

    return pause > least ? pause : least;
}
