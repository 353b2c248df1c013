/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include "bench/jitter/stretch_means.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "bench/jitter/stretch.h"

void bench_stretch_means_start(bench_stretch_means_t *means, uint64_t stretch_ms,
                               uint64_t settle_ms)
{
    memset(means, 0, sizeof(*means));
    means->stretch_ms = stretch_ms;
    means->settle_ms = settle_ms;
}

void bench_stretch_means_add(bench_stretch_means_t *means, int64_t start_ns,
                             uint64_t took_ns)
{
    bench_stretch_t stretch = bench_stretch(means->stretch_ms, start_ns);
    int64_t begin_ns = stretch.end_ns - (int64_t)means->stretch_ms * 1000000, i;

    if (means->n == 0)
        means->first = stretch.number;
    i = stretch.number - means->first;
    if (i < 0 || i >= BENCH_STRETCHES_MAX)
        return;
    if (i >= means->n)
        means->n = (unsigned)i + 1;
    if (start_ns - begin_ns < (int64_t)means->settle_ms * 1000000)
        return;
    means->of[i].count++;
    means->of[i].sum_ns += took_ns;
}

void bench_stretch_means_print(const bench_stretch_means_t *means)
{
    putchar('[');
    for (unsigned i = 0; i < means->n; i++) {
        uint64_t count = means->of[i].count;

        printf("%s[%d,%" PRIu64 ",%.4f]", i ? "," : "", (means->first + i) % 2 == 0,
               count, count ? (double)means->of[i].sum_ns / (double)count / 1e3 : 0);
    }
    putchar(']');
}
