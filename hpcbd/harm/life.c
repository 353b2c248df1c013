/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>

#include "hpcbd/harm/life.h"

/* An estimate of more comparisons is of guests that have changed meanwhile. */
#define PART 64

void hpcbd_life_pass(hpcbd_life_t *life, bool guests, int64_t now_ns)
{
    double passed_s = (double)(now_ns - life->seen_ns) / 1e9;

    if (guests && life->seen_ns) {
        life->part_s += passed_s;
        life->with_s += passed_s;
    }
    life->seen_ns = now_ns;
}

/* False: there are too few comparisons yet. */
static bool add_part(const hpcbd_life_t *life, hpcb_harm_life_t *sum,
                     hpcb_progress_source_t *source)
{
    hpcb_progress_verdict_t verdict;

    if (!hpcb_progress_judge(&life->part, &verdict))
        return false;
    hpcb_harm_live(sum, &verdict.found, life->part_s);
    *source = verdict.source;
    return true;
}

/* By any source: run delay is not on all nodes. */
static bool has_part(const hpcb_progress_t *part)
{
    bool has = false;

    for (int i = 0; i < HPCB_PROGRESS_SOURCES; i++)
        has |= part->harm[i].count >= PART;
    return has;
}

void hpcbd_life_compare(hpcbd_life_t *life,
                        const hpcb_progress_at_t at[HPCB_PROGRESS_READINGS])
{
    hpcb_progress_add(&life->part, at);
    if (!has_part(&life->part) || !add_part(life, &life->sum, &life->source))
        return;
    hpcb_progress_clear(&life->part);
    life->part_s = 0;
}

static hpcb_harm_estimate_t estimate_of(const hpcb_guest_cost_t *before)
{
    return (hpcb_harm_estimate_t){.cost = (double)before->cost / 1e6,
                                  .low = (double)before->low / 1e6,
                                  .high = (double)before->high / 1e6};
}

static int64_t millionths(double part)
{
    return (int64_t)(part * 1e6);
}

bool hpcbd_life_cost(const hpcbd_life_t *life, const hpcb_guest_cost_t *before,
                     double total_s, hpcb_guest_cost_t *cost)
{
    double before_s = (double)before->of_us / 1e6;
    hpcb_progress_source_t source = life->source;
    hpcb_harm_life_t sum = life->sum;
    hpcb_harm_estimate_t found;
    bool own, had = before->cost != HPCB_COST_UNKNOWN && before_s > 0;

    add_part(life, &sum, &source);
    own = sum.comparisons > 0;
    if (!own && !had)
        return false;
    if (had) {
        found = estimate_of(before);
        hpcb_harm_live(&sum, &found, before_s);
    } else {
        before_s = 0;
    }
    if (!hpcb_harm_of_life(&sum, life->with_s + before_s, total_s, &found))
        return false;
    *cost = (hpcb_guest_cost_t){.cost = millionths(found.cost),
                                .low = millionths(found.low),
                                .high = millionths(found.high),
                                .of_us = (uint64_t)(total_s * 1e6)};
    snprintf(cost->method, sizeof(cost->method), "%s",
             own ? hpcb_progress_name(source) : before->method);
    return true;
}
