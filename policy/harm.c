/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "policy/harm.h"
#include "policy/student.h"

/* Of all comparisons so many lie outside of the inner ones, at each end.  What is
 * further from these than they are from one another is an outlier, and counts as that
 * far away. */
#define TAIL 0.1

/* A comparison beyond this (a factor of ten) is a change of phase. */
#define LARGEST_COST 2.3

bool hpcb_harm_plan_good(const hpcb_harm_plan_t *plan)
{
    return plan->off_ns > 0 && plan->settle_ns >= 0 && plan->settle_ns < plan->off_ns &&
           plan->compare_ns > 0 && plan->period_ns > 0 && plan->gap_ns >= 0 &&
           plan->compare_ns <= plan->period_ns / 2 &&
           plan->off_ns <= plan->period_ns - 2 * plan->compare_ns;
}

/* A secret may be longer than a key, and no part of it is to be in vain. */
hpcb_harm_seed_t hpcb_harm_seed(const void *secret, size_t length)
{
    static const hpcb_siphash_key_t first = {{0, 0}}, second = {{0, 1}};

    return (hpcb_harm_seed_t){{{hpcb_siphash(&first, secret, length),
                                hpcb_siphash(&second, secret, length)}}};
}

/* From 0 to limit_ns, what is drawn as the which-th of the period. */
static int64_t draw(const hpcb_harm_seed_t *seed, uint64_t period, unsigned char which,
                    int64_t limit_ns)
{
    unsigned char text[sizeof(period) + 1];

    for (size_t i = 0; i < sizeof(period); i++)
        text[i] = (unsigned char)(period >> 8 * i);
    text[sizeof(period)] = which;
    return (int64_t)(hpcb_siphash(&seed->key, text, sizeof(text)) %
                     ((uint64_t)limit_ns + 1));
}

/*
 * The stop may be anywhere in the period, and the second time of comparison anywhere
 * after it that fits.  If some part of the period were never compared, or some part
 * often, guests would know when to sleep.
 */
hpcb_harm_stop_t hpcb_harm_stop(const hpcb_harm_plan_t *plan,
                                const hpcb_harm_seed_t *seed, int64_t now_ns)
{
    uint64_t number = (uint64_t)(now_ns / plan->period_ns);
    int64_t room_ns = plan->period_ns - plan->off_ns - 2 * plan->compare_ns;
    int64_t lead_ns = draw(seed, number, 0, room_ns);
    int64_t rest_ns = room_ns - lead_ns;
    int64_t gap_ns =
        draw(seed, number, 1, rest_ns < plan->gap_ns ? rest_ns : plan->gap_ns);
    hpcb_harm_stop_t stop = {.number = number};

    stop.before_ns = (int64_t)number * plan->period_ns + lead_ns;
    stop.from_ns = stop.before_ns + plan->compare_ns;
    stop.settled_ns = stop.from_ns + plan->settle_ns;
    stop.to_ns = stop.from_ns + plan->off_ns;
    stop.again_ns = stop.to_ns + gap_ns;
    stop.after_ns = stop.again_ns + plan->compare_ns;
    return stop;
}

double hpcb_harm_between(double before, double before_at, double after, double after_at,
                         double at)
{
    return before + (after - before) * (at - before_at) / (after_at - before_at);
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
    half = hpcb_student_t((double)(count - 1)) *
           sqrt(squares_of(cost, count, mean) / (double)(count - 1) / (double)count);
    *out = (hpcb_harm_estimate_t){
        .cost = expm1(mean),
        .low = expm1(mean - half),
        .high = expm1(mean + half),
        .comparisons = count,
    };
    return true;
}

void hpcb_harm_live(hpcb_harm_life_t *life, const hpcb_harm_estimate_t *part,
                    double seconds)
{
    double half = (part->high - part->low) / 2 * seconds;

    life->known_s += seconds;
    life->cost_s += part->cost * seconds;
    life->square_s += half * half;
    life->comparisons += part->comparisons;
}

bool hpcb_harm_of_life(const hpcb_harm_life_t *life, double with_s, double total_s,
                       hpcb_harm_estimate_t *out)
{
    double scale, half;

    if (!(life->known_s > 0 && total_s > 0))
        return false;
    scale = fmin(with_s / total_s, 1) / life->known_s;
    half = sqrt(life->square_s);
    *out = (hpcb_harm_estimate_t){
        .cost = life->cost_s * scale,
        .low = (life->cost_s - half) * scale,
        .high = (life->cost_s + half) * scale,
        .comparisons = life->comparisons,
    };
    return true;
}
