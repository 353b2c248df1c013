/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>

#include "sim/plan.h"

#define BINS      (1U << 18)
#define GRAIN_MIN INT64_C(60000000000)

int hpcb_sim_plan_begin(hpcb_sim_plan_t *plan, int64_t from_ns, int64_t to_ns)
{
    plan->sum = calloc(BINS + 1, sizeof(*plan->sum));
    plan->from_ns = from_ns;
    plan->grain_ns = (to_ns - from_ns) / BINS + 1;
    if (plan->grain_ns < GRAIN_MIN)
        plan->grain_ns = GRAIN_MIN;
    return plan->sum ? 0 : -1;
}

void hpcb_sim_plan_free(hpcb_sim_plan_t *plan)
{
    free(plan->sum);
    *plan = (hpcb_sim_plan_t){0};
}

/* The bin that ends at or after that moment. */
static uint32_t bin_of(const hpcb_sim_plan_t *plan, int64_t end_ns)
{
    int64_t bin = (end_ns - plan->from_ns) / plan->grain_ns + 1;

    return bin < 1 ? 1 : bin > BINS ? BINS : (uint32_t)bin;
}

void hpcb_sim_plan_add(hpcb_sim_plan_t *plan, int64_t end_ns, int64_t amount)
{
    for (uint32_t at = bin_of(plan, end_ns); at <= BINS; at += at & -at)
        plan->sum[at] += amount;
}

int64_t hpcb_sim_plan_when(const hpcb_sim_plan_t *plan, int64_t amount)
{
    int64_t before = 0;
    uint32_t at = 0;

    if (plan->sum[BINS] < amount)
        return INT64_MAX;
    for (uint32_t step = BINS; step > 0; step /= 2) {
        if (at + step <= BINS && before + plan->sum[at + step] < amount) {
            at += step;
            before += plan->sum[at];
        }
    }
    /* The bin behind at is the first with which there are enough. */
    return plan->from_ns + (int64_t)(at + 1) * plan->grain_ns;
}

int64_t hpcb_sim_plan_by(const hpcb_sim_plan_t *plan, int64_t when_ns)
{
    int64_t sum = 0, bins = (when_ns - plan->from_ns) / plan->grain_ns;

    for (uint32_t at = bins > BINS ? BINS : (uint32_t)bins; at > 0; at -= at & -at)
        sum += plan->sum[at];
    return sum;
}
