/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* How long something took on average in each stretch of time (bench/jitter/stretch.h).
 */
#ifndef HPCB_BENCH_JITTER_STRETCH_MEANS_H
#define HPCB_BENCH_JITTER_STRETCH_MEANS_H

#include <stdint.h>

/* Stretches that are kept; later ones are left out. */
#define BENCH_STRETCHES_MAX 1024

typedef struct {
    uint64_t stretch_ms, settle_ms;
    int64_t first; /* number of the first stretch */
    unsigned n;
    struct {
        uint64_t count, sum_ns;
    } of[BENCH_STRETCHES_MAX];
} bench_stretch_means_t;

/* For stretches of stretch_ms; what begins within settle_ms of a stretch's begin is
 * left out. */
void bench_stretch_means_start(bench_stretch_means_t *means, uint64_t stretch_ms,
                               uint64_t settle_ms);

/* Something has begun at start_ns since 1970 and taken took_ns.  Time that runs
 * backwards is left out. */
void bench_stretch_means_add(bench_stretch_means_t *means, int64_t start_ns,
                             uint64_t took_ns);

/* As a JSON list of [noisy (0 or 1), count, mean in us], in the order of time. */
void bench_stretch_means_print(const bench_stretch_means_t *means);

#endif
