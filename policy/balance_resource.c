/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/balance_parts.h"

/*
 * DLRB's resource balancer (section 5.2.3): if the utilizations of a core's threads
 * differ by more than the threshold, raise the busier one by one, or lower the other
 * one if it is at the top already; by two if they differ by more than twice the
 * threshold.
 *
 * That alone overshoots if a difference of two is too much, and then oscillates forever
 * ("oscillates between two solutions", section 4.3.2).  So a step is reduced or skipped
 * if that is known to be better, either by prediction, because shares are linear, or
 * because this pair has been measured with those priorities in this phase.
 */

/* Better by less is nothing better (noise). */
#define BETTER 0.99

/* Percents that are equal may not be as quotients. */
#define ROUNDING 1e-6

#define MIDDLE (HPCB_BALANCE_TRIED / 2)

typedef struct {
    unsigned busy, other; /* sides */
    unsigned steps;       /* 0: they are near enough */
} plan_t;

static plan_t plan(const hpcb_balance_conf_t *conf, const hpcb_balance_group_t *group)
{
    plan_t p = {0};
    double apart;

    for (unsigned i = 1; i < group->n; i++) {
        if (group->side[i].util > group->side[p.busy].util)
            p.busy = i;
        if (group->side[i].util <= group->side[p.other].util)
            p.other = i;
    }
    apart = 100 * (group->side[p.busy].util - group->side[p.other].util);
    p.steps = (apart > conf->threshold + ROUNDING) +
              (apart > 2.0 * conf->threshold + ROUNDING);
    return p;
}

static void raise_busy(const hpcb_balance_conf_t *conf, const plan_t *p, unsigned steps,
                       unsigned priority[])
{
    for (unsigned i = 0; i < steps; i++) {
        if (priority[p->busy] < conf->priority_max)
            priority[p->busy]++;
        else if (priority[p->other] > conf->priority_min)
            priority[p->other]--;
    }
}

static void current(const hpcb_balance_group_t *group, unsigned priority[])
{
    for (unsigned i = 0; i < group->n; i++)
        priority[i] = group->side[i].priority;
}

static double slowest(const hpcb_balance_group_t *group)
{
    double time = 0;

    for (unsigned i = 0; i < group->n; i++)
        if (group->side[i].compute > time)
            time = group->side[i].compute;
    return time;
}

/* Return the entry for a pair with these priorities. */
static float *memory(hpcb_balance_dlrb_t *dlrb, const hpcb_balance_group_t *group,
                     const unsigned priority[])
{
    return &dlrb->tried[group->first][MIDDLE + (int)priority[0] - (int)priority[1]];
}

/* Seconds that the slowest side takes with these priorities; 0: not known. */
static double expected(const hpcb_balance_conf_t *conf, hpcb_balance_dlrb_t *dlrb,
                       const hpcb_balance_group_t *group, const unsigned priority[])
{
    float seen = group->n == 2 ? *memory(dlrb, group, priority) : 0;

    if (seen > 0)
        return (double)seen;
    return conf->linear ? hpcb_balance_predict(group, priority) : 0;
}

static void remember(hpcb_balance_dlrb_t *dlrb, const hpcb_balance_group_t *group)
{
    unsigned priority[HPCB_BALANCE_SIDES];

    current(group, priority);
    if (group->n == 2)
        *memory(dlrb, group, priority) = (float)slowest(group);
}

/* Of the plan's steps the best one that is known, or the largest one that is not. */
static unsigned choose(const hpcb_balance_conf_t *conf,
                       const hpcb_balance_group_t *group, const plan_t *p,
                       hpcb_balance_dlrb_t *dlrb)
{
    unsigned priority[HPCB_BALANCE_SIDES], best = 0;
    double least = BETTER * slowest(group);

    for (unsigned steps = p->steps; steps > 0; steps--) {
        double time;

        current(group, priority);
        raise_busy(conf, p, steps, priority);
        time = expected(conf, dlrb, group, priority);
        if (time <= 0)
            return best > 0 ? best : steps;
        if (time < least) {
            least = time;
            best = steps;
        }
    }
    return best;
}

static bool balance_group(const hpcb_balance_conf_t *conf, hpcb_balance_group_t *group,
                          hpcb_balance_t *balance)
{
    unsigned priority[HPCB_BALANCE_SIDES];
    plan_t p = plan(conf, group);

    remember(&balance->dlrb, group);
    current(group, priority);
    raise_busy(conf, &p, choose(conf, group, &p, &balance->dlrb), priority);
    for (unsigned i = 0; i < group->n; i++)
        group->side[i].priority = priority[i];
    return hpcb_balance_assign(group, balance);
}

bool hpcb_balance_resource(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places, hpcb_balance_t *balance)
{
    hpcb_balance_group_t group;
    bool changed = false;

    for (unsigned place = 0; place < places->n;) {
        place = hpcb_balance_group(places, balance, place, &group);
        if (group.n > 1 && group.known)
            changed = balance_group(conf, &group, balance) || changed;
    }
    return changed;
}
