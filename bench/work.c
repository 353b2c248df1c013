/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <time.h>
#include "bench/work.h"

/* Rounds in a unit: one round is a chain of about 8 cycles. */
#define UNIT_ROUNDS 400

/* The probe: best of PROBES runs of PROBE_UNITS, about 20 ms each. */
#define PROBES      5
#define PROBE_UNITS 20000

uint64_t bench_work(uint64_t seed, uint64_t units)
{
    uint64_t x = seed | 1;

    for (uint64_t i = 0; i < units; i++) {
        for (unsigned round = 0; round < UNIT_ROUNDS; round++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
    }
    return x;
}

static double thread_cpu(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_work_rate(void)
{
    volatile uint64_t sink = 1; /* the probe's result must count as used */
    double best = 0;

    for (int i = 0; i < PROBES; i++) {
        double start = thread_cpu();

        sink = bench_work(sink, PROBE_UNITS);
        double rate = PROBE_UNITS / (thread_cpu() - start);
        if (rate > best)
            best = rate;
    }
    return best;
}
