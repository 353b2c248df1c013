/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "sim/random.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define LN2    0.693147180559945309417232121458
#define TERMS  18 /* of the series in ln: the next is below 1e-16 */

__extension__ typedef unsigned __int128 wide_t;

/* Every bit of x decides about every bit of the result (the finalizer of SplitMix64).
 */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

hpcb_sim_stream_t hpcb_sim_stream(uint64_t seed, uint64_t number)
{
    return (hpcb_sim_stream_t){.key = mix(mix(seed + GOLDEN) ^ (number * GOLDEN))};
}

uint64_t hpcb_sim_bits(hpcb_sim_stream_t *stream)
{
    return mix(stream->key + GOLDEN * ++stream->count);
}

uint64_t hpcb_sim_below(hpcb_sim_stream_t *stream, uint64_t below)
{
    return (uint64_t)(((wide_t)hpcb_sim_bits(stream) * below) >> 64);
}

/* x = 2^e * m with m near 1; ln m = 2 atanh((m - 1) / (m + 1)) as a series. */
double hpcb_sim_ln(double x)
{
    uint64_t bits;
    double m, ratio, square, sum = 0;
    int e;

    memcpy(&bits, &x, sizeof(bits));
    e = (int)(bits >> 52 & 0x7ff) - 1023;
    bits = (bits & ~(UINT64_C(0x7ff) << 52)) | UINT64_C(1023) << 52;
    memcpy(&m, &bits, sizeof(m));
    if (m > 1.5) {
        m /= 2;
        e++;
    }
    ratio = (m - 1) / (m + 1);
    square = ratio * ratio;
    for (int i = TERMS; i > 0; i--)
        sum = sum * square + 1.0 / (2 * i - 1);
    return 2 * ratio * sum + e * LN2;
}

double hpcb_sim_fraction(hpcb_sim_stream_t *stream)
{
    return (double)((hpcb_sim_bits(stream) >> 11) + 1) / (double)(UINT64_C(1) << 53);
}

int64_t hpcb_sim_draw(const hpcb_sim_dist_t *dist, hpcb_sim_stream_t *stream)
{
    switch (dist->kind) {
    case HPCB_SIM_UNIFORM:
        return dist->a +
               (int64_t)hpcb_sim_below(stream, (uint64_t)(dist->b - dist->a) + 1);
    case HPCB_SIM_EXPONENTIAL:
        return (int64_t)(-hpcb_sim_ln(hpcb_sim_fraction(stream)) * (double)dist->a);
    case HPCB_SIM_TRACE:
        return dist->trace[hpcb_sim_below(stream, dist->n)];
    case HPCB_SIM_CONSTANT:
    default:
        return dist->a;
    }
}

int64_t hpcb_sim_dist_most(const hpcb_sim_dist_t *dist)
{
    int64_t most = dist->kind == HPCB_SIM_UNIFORM ? dist->b : dist->a;

    if (dist->kind == HPCB_SIM_TRACE)
        most = dist->trace[0];
    for (size_t i = 1; dist->kind == HPCB_SIM_TRACE && i < dist->n; i++)
        most = dist->trace[i] > most ? dist->trace[i] : most;
    return most;
}

void hpcb_sim_dist_free(hpcb_sim_dist_t *dist)
{
    free(dist->trace);
    *dist = (hpcb_sim_dist_t){0};
}
