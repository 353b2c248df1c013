/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/siblings.h"

#include "policy/share.h"

hpcb_cpus_t hpcb_siblings_exposed(const hpcb_cores_t *cores, const hpcb_cpus_t *allowed,
                                  const hpcb_cpus_t *held)
{
    uint16_t holders[HPCB_CPUS_MAX] = {0}; /* threads of primaries, by core */
    hpcb_cpus_t exposed = {{0}};

    for (unsigned cpu = hpcb_cpus_from(held, 0); cpu < HPCB_CPUS_MAX;
         cpu = hpcb_cpus_from(held, cpu + 1)) {
        if (hpcb_cpus_has(&cores->online, cpu))
            holders[cores->core[cpu]]++;
    }
    for (unsigned cpu = hpcb_cpus_from(allowed, 0); cpu < HPCB_CPUS_MAX;
         cpu = hpcb_cpus_from(allowed, cpu + 1)) {
        if (hpcb_cpus_has(&cores->online, cpu) &&
            holders[cores->core[cpu]] > (hpcb_cpus_has(held, cpu) ? 1 : 0))
            hpcb_cpus_add(&exposed, cpu);
    }
    return exposed;
}

/* The lowest CPU of allowed on each core. */
static hpcb_cpus_t first_threads(const hpcb_cores_t *cores, const hpcb_cpus_t *allowed)
{
    hpcb_cpus_t seen = {{0}}, first = {{0}};

    for (unsigned cpu = hpcb_cpus_from(allowed, 0); cpu < HPCB_CPUS_MAX;
         cpu = hpcb_cpus_from(allowed, cpu + 1)) {
        if (!hpcb_cpus_has(&cores->online, cpu) ||
            hpcb_cpus_has(&seen, cores->core[cpu]))
            continue;
        hpcb_cpus_add(&seen, cores->core[cpu]);
        hpcb_cpus_add(&first, cpu);
    }
    return first;
}

static void avoid(const hpcb_cpus_t *cpus, hpcb_siblings_plan_t *plan)
{
    plan->how = HPCB_SIBLINGS_AVOID;
    plan->cpus = *cpus;
}

void hpcb_siblings_plan(const hpcb_siblings_facts_t *facts, hpcb_siblings_plan_t *plan)
{
    hpcb_cpus_t exposed, left = facts->allowed;

    *plan = (hpcb_siblings_plan_t){.how = HPCB_SIBLINGS_NOTHING};
    if (!facts->cores->smt)
        return;
    plan->cookie = facts->cookie;
    exposed = hpcb_siblings_exposed(facts->cores, &facts->allowed, &facts->held);
    if (hpcb_cpus_count(&exposed) == 0)
        return;
    hpcb_cpus_drop(&left, &exposed);
    if (facts->avoid && hpcb_cpus_count(&left) > 0) {
        avoid(&left, plan);
    } else if (facts->cookie) {
        plan->how = HPCB_SIBLINGS_COOKIE;
    } else if (facts->throttle) {
        plan->how = HPCB_SIBLINGS_THROTTLE;
        plan->share =
            (uint64_t)hpcb_cpus_count(&exposed) * hpcb_share_time(facts->difference);
    } else if (facts->avoid) {
        left = first_threads(facts->cores, &facts->allowed);
        avoid(&left, plan);
    } else {
        plan->how = HPCB_SIBLINGS_HELPLESS;
    }
}
