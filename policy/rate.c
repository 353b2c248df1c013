/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/rate.h"

#include <string.h>

void hpcb_rate_init(hpcb_rate_t *rate, unsigned window, uint64_t quantum_us,
                    unsigned bits)
{
    *rate = (hpcb_rate_t){.window = window, .quantum_us = quantum_us, .bits = bits};
}

void hpcb_rate_break(hpcb_rate_t *rate)
{
    rate->points = 0;
}

uint64_t hpcb_rate_total(const hpcb_rate_t *rate)
{
    return rate->total;
}

#define CUTS (1U << HPCB_RATE_CUT_BITS)

/* Rates below CUTS have a bin each; above, the leading bits of a rate are its bin. */
static unsigned bin_of(uint64_t per_second)
{
    unsigned shift;

    if (per_second < CUTS)
        return (unsigned)per_second;
    shift = 63 - (unsigned)__builtin_clzll(per_second) - HPCB_RATE_CUT_BITS;
    return (shift << HPCB_RATE_CUT_BITS) + (unsigned)(per_second >> shift);
}

static double middle_of(unsigned bin)
{
    unsigned shift;
    uint64_t low;

    if (bin < 2 * CUTS)
        return bin;
    shift = (bin >> HPCB_RATE_CUT_BITS) - 1;
    low = (uint64_t)(bin - (shift << HPCB_RATE_CUT_BITS)) << shift;
    return (double)low + (double)(UINT64_C(1) << (shift - 1));
}

/* Bytes since the last value; -1 if the counter has begun anew. */
static int delta(const hpcb_rate_t *rate, uint64_t value, uint64_t *bytes)
{
    uint64_t mask = rate->bits < 64 ? (UINT64_C(1) << rate->bits) - 1 : UINT64_MAX;

    if (rate->bits == 64 && value < rate->value)
        return -1;
    *bytes = (value - rate->value) & mask;
    return 0;
}

static void push(hpcb_rate_t *rate, uint64_t time_us)
{
    if (rate->points == rate->window + 1) {
        memmove(rate->last, rate->last + 1, rate->window * sizeof(rate->last[0]));
        rate->points--;
    }
    rate->last[rate->points++] =
        (hpcb_rate_point_t){.time_us = time_us, .total = rate->total};
}

/* Beyond 2^64 the nearest number that there is. */
static uint64_t per_second(uint64_t bytes, uint64_t us)
{
    double found = (double)bytes * 1e6 / (double)us + 0.5;

    return found < 0x1p64 ? (uint64_t)found : UINT64_MAX;
}

/* Count the window that ends now as many times as quanta have gone by since the sample
 * before: late samples leave no holes. */
static void count_window(hpcb_rate_t *rate, uint64_t elapsed_us)
{
    uint64_t quanta = (elapsed_us + rate->quantum_us / 2) / rate->quantum_us;
    const hpcb_rate_point_t *first = &rate->last[0], *end = &rate->last[rate->window];
    uint32_t *bin;

    if (rate->points <= rate->window)
        return;
    bin = &rate->bin[bin_of(
        per_second(end->total - first->total, end->time_us - first->time_us))];
    if (quanta == 0)
        quanta = 1;
    if (quanta > UINT32_MAX - *bin)
        quanta = UINT32_MAX - *bin;
    *bin += (uint32_t)quanta;
    rate->weight += quanta;
}

void hpcb_rate_add(hpcb_rate_t *rate, uint64_t time_us, uint64_t value)
{
    uint64_t bytes = 0, before = 0;

    if (rate->points > 0) {
        before = rate->last[rate->points - 1].time_us;
        if (time_us <= before)
            return;
        if (delta(rate, value, &bytes) < 0)
            hpcb_rate_break(rate);
    }
    rate->value = value;
    if (rate->points == 0) {
        push(rate, time_us);
        return;
    }
    rate->total += bytes;
    rate->covered_us += time_us - before;
    push(rate, time_us);
    count_window(rate, time_us - before);
}

int hpcb_rate_mean(const hpcb_rate_t *rate, double *value)
{
    if (rate->covered_us == 0)
        return -1;
    *value = (double)rate->total * 1e6 / (double)rate->covered_us;
    return 0;
}

int hpcb_rate_quantile(const hpcb_rate_t *rate, unsigned percent, double *value)
{
    uint64_t seen = 0, wanted;

    if (rate->weight == 0)
        return hpcb_rate_mean(rate, value);
    wanted = (rate->weight * percent + 99) / 100;
    for (unsigned i = 0; i < HPCB_RATE_BINS; i++) {
        seen += rate->bin[i];
        if (seen >= wanted) {
            *value = middle_of(i);
            break;
        }
    }
    return 0;
}
