/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/balance_parts.h"
#include "policy/share.h"

/*
 * Ranks of a CPU that wait by polling want to run all the time.  So each gets a part of
 * the CPU by its weight, independent of the others, and its compute time is its work
 * divided by that part.  If waiting ranks sleep, the part is at least that.
 */

/* Fine enough for any weight. */
#define TOP 1000000

/* More sides than this are not searched through: 3^5 combinations in the usual range.
 */
#define SEARCHED 5

/* Changes must be predicted to reach at least this. */
#define WORTH 0.98

static unsigned highest(const unsigned priority[], unsigned n)
{
    unsigned most = 0;

    for (unsigned i = 0; i < n; i++)
        if (priority[i] > most)
            most = priority[i];
    return most;
}

double hpcb_balance_part(const unsigned priority[], unsigned n, unsigned side)
{
    unsigned most = highest(priority, n);
    double sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += hpcb_share_weight(most - priority[i], TOP);
    return hpcb_share_weight(most - priority[side], TOP) / sum;
}

double hpcb_balance_predict(const hpcb_balance_group_t *group,
                            const unsigned priority[])
{
    unsigned now[HPCB_BALANCE_SIDES];
    double longest = 0;

    for (unsigned i = 0; i < group->n; i++)
        now[i] = group->side[i].priority;
    for (unsigned i = 0; i < group->n; i++) {
        double work = group->side[i].compute * hpcb_balance_part(now, group->n, i);
        double time = work / hpcb_balance_part(priority, group->n, i);

        if (time > longest)
            longest = time;
    }
    return longest;
}

/* The next combination of least to most; whether there is one. */
static bool next_combination(unsigned priority[], unsigned n, unsigned least,
                             unsigned most)
{
    for (unsigned i = 0; i < n; i++) {
        if (priority[i] < most) {
            priority[i]++;
            return true;
        }
        priority[i] = least;
    }
    return false;
}

void hpcb_balance_best(const hpcb_balance_conf_t *conf, hpcb_balance_group_t *group)
{
    unsigned tried[SEARCHED], best[SEARCHED], now[SEARCHED];
    double least;

    if (group->n < 2 || group->n > SEARCHED || !group->known)
        return;
    for (unsigned i = 0; i < group->n; i++) {
        now[i] = best[i] = group->side[i].priority;
        tried[i] = conf->priority_min;
    }
    least = WORTH * hpcb_balance_predict(group, now);
    do {
        double time = hpcb_balance_predict(group, tried);

        if (time >= least)
            continue;
        least = time;
        for (unsigned i = 0; i < group->n; i++)
            best[i] = tried[i];
    } while (next_combination(tried, group->n, conf->priority_min, conf->priority_max));
    for (unsigned i = 0; i < group->n; i++)
        group->side[i].priority = best[i];
}
