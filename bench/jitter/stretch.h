/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Time since 1970 cut into stretches that all processes of a machine agree on without a
 * word: in every other one there is noise.
 */
#ifndef HPCB_BENCH_JITTER_STRETCH_H
#define HPCB_BENCH_JITTER_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

#define BENCH_STRETCH_MAX_MS UINT64_C(3600000)

typedef struct {
    bool noisy;
    int64_t number; /* of all since 1970 */
    int64_t end_ns; /* since 1970 */
} bench_stretch_t;

/* The stretch that now (nanoseconds since 1970) is in; with stretch_ms 0 there is one,
 * noisy and without an end. */
bench_stretch_t bench_stretch(uint64_t stretch_ms, int64_t now_ns);

/* CLOCK_REALTIME, in nanoseconds since 1970. */
int64_t bench_wall_ns(void);

#endif
