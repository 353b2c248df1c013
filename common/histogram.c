/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include "common/histogram.h"

/* Below 16 a bucket for each value; above, 16 for each power of two. */
#define PART_BITS 4
#define PARTS     (1u << PART_BITS)

static unsigned bucket_of(uint64_t ns)
{
    unsigned power;
    uint64_t bucket;

    if (ns < PARTS)
        return (unsigned)ns;
    power = 63u - (unsigned)__builtin_clzll(ns) - PART_BITS;
    bucket = (uint64_t)PARTS * power + (ns >> power);
    return bucket < HPCB_HISTOGRAM_BUCKETS ? (unsigned)bucket
                                           : HPCB_HISTOGRAM_BUCKETS - 1;
}

/* The largest value of a bucket. */
static uint64_t upper_end(unsigned bucket)
{
    unsigned power;

    if (bucket < 2 * PARTS)
        return bucket;
    power = bucket / PARTS - 1;
    return (((uint64_t)(bucket % PARTS) + PARTS + 1) << power) - 1;
}

void hpcb_histogram_add(hpcb_histogram_t *histogram, uint64_t ns)
{
    histogram->buckets[bucket_of(ns)]++;
    histogram->sum_ns += ns;
    if (histogram->count == 0 || ns < histogram->min_ns)
        histogram->min_ns = ns;
    if (ns > histogram->max_ns)
        histogram->max_ns = ns;
    histogram->count++;
}

uint64_t hpcb_histogram_quantile(const hpcb_histogram_t *histogram, double fraction)
{
    uint64_t wanted = (uint64_t)(fraction * (double)histogram->count);
    uint64_t seen = 0;

    for (unsigned i = 0; i < HPCB_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen > wanted && histogram->buckets[i])
            return upper_end(i) < histogram->max_ns ? upper_end(i) : histogram->max_ns;
    }
    return histogram->max_ns;
}

static double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

void hpcb_histogram_print(const hpcb_histogram_t *histogram)
{
    const char *separator = "";
    double mean =
        histogram->count ? us(histogram->sum_ns) / (double)histogram->count : 0;

    printf("{\"count\":%" PRIu64 ",\"mean\":%.3f,\"min\":%.3f,\"p50\":%.3f,"
           "\"p90\":%.3f,\"p99\":%.3f,\"p999\":%.3f,\"max\":%.3f,\"buckets\":[",
           histogram->count, mean, us(histogram->min_ns),
           us(hpcb_histogram_quantile(histogram, 0.5)),
           us(hpcb_histogram_quantile(histogram, 0.9)),
           us(hpcb_histogram_quantile(histogram, 0.99)),
           us(hpcb_histogram_quantile(histogram, 0.999)), us(histogram->max_ns));
    for (unsigned i = 0; i < HPCB_HISTOGRAM_BUCKETS; i++) {
        if (!histogram->buckets[i])
            continue;
        printf("%s[%.3f,%" PRIu64 "]", separator, us(upper_end(i)),
               histogram->buckets[i]);
        separator = ",";
    }
    printf("]}");
}
