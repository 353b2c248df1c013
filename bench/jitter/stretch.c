/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Every other stretch of time has noise. */
#include "config.h"
#include "bench/jitter/stretch.h"
#include <time.h>

bench_stretch_t bench_stretch(uint64_t stretch_ms, int64_t now_ns)
{
    int64_t length = (int64_t)stretch_ms * 1000000, number;

    if (length == 0)
        return (bench_stretch_t){.noisy = true, .end_ns = INT64_MAX};
    number = now_ns / length;
    return (bench_stretch_t){
        .noisy = number % 2 == 0, .number = number, .end_ns = (number + 1) * length};
}

int64_t bench_wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
