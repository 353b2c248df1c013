/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "policy/harm.h"

/* Of all comparisons so many lie outside of the inner ones, at each end.  What is
 * further from these than they are from one another is an outlier, and counts as that
 * far away. */
#define TAIL 0.1

/* A comparison beyond this (a factor of ten) is a change of phase. */
#define LARGEST_COST 2.3

bool hpcb_harm_plan_good(const hpcb_harm_plan_t *plan)
{
    return plan->off_ns > 0 && plan->compare_ns > 0 && plan->period_ns > 0 &&
           plan->compare_ns <= plan->period_ns / 2 &&
           plan->off_ns <= plan->period_ns - 2 * plan->compare_ns;
}

/* A permutation of 64-bit numbers whose results look random (Steele et al., SplitMix64,
 * OOPSLA 2014). */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

hpcb_harm_stop_t hpcb_harm_stop(const hpcb_harm_plan_t *plan, uint32_t job_id,
                                int64_t now_ns)
{
    uint64_t period = (uint64_t)(now_ns / plan->period_ns);
    /* The times of comparison stay within the period. */
    uint64_t room =
        (uint64_t)(plan->period_ns - plan->off_ns - 2 * plan->compare_ns) + 1;
    int64_t from = (int64_t)period * plan->period_ns + plan->compare_ns +
                   (int64_t)(mix(mix(job_id) ^ period) % room);

    return (hpcb_harm_stop_t){.from_ns = from, .to_ns = from + plan->off_ns};
}

bool hpcb_harm_add(hpcb_harm_t *harm, double rate_with, double rate_without)
{
    double cost = log(rate_without / rate_with);

    if (!(rate_with > 0.0 && rate_without > 0.0) || !isfinite(cost))
        return false;
    cost = fmax(fmin(cost, LARGEST_COST), -LARGEST_COST);
    harm->cost[harm->count % HPCB_HARM_COMPARISONS] = cost;
    harm->count++;
    return true;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Two-sided 95 % quantile of Student's t; from 3 degrees of freedom on right to 0.5 %
 * (the first terms of Cornish and Fisher's expansion). */
static double student_t(double freedom)
{
    const double z = 1.959964;
    double z3 = z * z * z, z5 = z3 * z * z;

    return z + (z3 + z) / (4 * freedom) +
           (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
           (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) /
               (384 * freedom * freedom * freedom);
}

/*
 * Sorted, count > 0.  To cut the tails themselves would miss harm that is rare: guests
 * take whole ticks, and of a harm of 0.5 % four comparisons in five see nothing.
 */
static void fence_outliers(double *cost, size_t count)
{
    size_t tail = (size_t)(TAIL * (double)count);
    double low = cost[tail], high = cost[count - 1 - tail], reach = high - low;

    for (size_t i = 0; i < count; i++)
        cost[i] = fmax(fmin(cost[i], high + reach), low - reach);
}

static double mean_of(const double *cost, size_t count)
{
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum += cost[i];
    return sum / (double)count;
}

static double squares_of(const double *cost, size_t count, double mean)
{
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum += (cost[i] - mean) * (cost[i] - mean);
    return sum;
}

bool hpcb_harm_estimate(const hpcb_harm_t *harm, hpcb_harm_estimate_t *out)
{
    size_t count =
        harm->count < HPCB_HARM_COMPARISONS ? harm->count : HPCB_HARM_COMPARISONS;
    double cost[HPCB_HARM_COMPARISONS];
    double mean, half;

    if (count < HPCB_HARM_COMPARISONS_MIN)
        return false;
    memcpy(cost, harm->cost, count * sizeof *cost);
    qsort(cost, count, sizeof *cost, compare);
    fence_outliers(cost, count);
    mean = mean_of(cost, count);
    half = student_t((double)(count - 1)) *
           sqrt(squares_of(cost, count, mean) / (double)(count - 1) / (double)count);
    *out = (hpcb_harm_estimate_t){
        .cost = expm1(mean),
        .low = expm1(mean - half),
        .high = expm1(mean + half),
        .comparisons = count,
    };
    return true;
}
