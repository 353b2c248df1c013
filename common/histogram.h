/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Histogram of durations from 1 ns to 2^40 ns (18 min), in buckets with a width of at
 * most 1/16: constant memory, and no allocation during a measurement.
 */
#ifndef HPCB_COMMON_HISTOGRAM_H
#define HPCB_COMMON_HISTOGRAM_H

#include <stdint.h>

#define HPCB_HISTOGRAM_BUCKETS 592

/* All zero: empty. */
typedef struct {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t min_ns;
    uint64_t max_ns;
    uint64_t buckets[HPCB_HISTOGRAM_BUCKETS];
} hpcb_histogram_t;

void hpcb_histogram_add(hpcb_histogram_t *histogram, uint64_t ns);

/* Return the upper end of the bucket that contains this fraction (0..1) of all, at most
 * the maximum; 0 if there are none. */
uint64_t hpcb_histogram_quantile(const hpcb_histogram_t *histogram, double fraction);

/* Print as one JSON object: count, mean, min, p50, p90, p99, p999, max (us) and buckets
 * as [[upper end in us, count], ...] without empty ones. */
void hpcb_histogram_print(const hpcb_histogram_t *histogram);

#endif
