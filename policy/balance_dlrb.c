/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <string.h>

#include "policy/balance_parts.h"

/*
 * DLRB (section 5.2): the first iteration runs with ranks distributed by number.  Then
 * they are distributed by load and run one iteration without priorities.  After that
 * priorities follow step by step.  A bitmap has the ranks that are busy almost all of
 * the time.  When it changes the program has entered another phase, and the algorithm
 * begins again with the last loads.
 *
 * Details that the description leaves open:
 *  - A bit is cleared only when the rank is clearly less busy.  Otherwise a rank at the
 *    limit would be a change of phase in every other iteration.
 *  - Added bits alone are no change of phase, because they mean better balance.
 *  - Bits that change immediately after priorities have changed are caused by that.
 *  - Percents are relative to the busiest rank's utilization, which is below 100 % if
 *    messages take time.
 *  - After three changes in eight iterations it is nervous, and ignores changes that
 *    last a single iteration (another task on one of the CPUs).
 *
 * With predict, priorities are computed from the samples at any priorities, all at
 * once, so no iteration without priorities is necessary.
 */

#define HYSTERESIS 10 /* percent */
#define NERVOUS    3  /* changes in eight iterations */

static double highest(const hpcb_balance_t *balance)
{
    double most = 0;

    for (unsigned i = 0; i < balance->n; i++)
        if (balance->rank[i].known && balance->rank[i].util > most)
            most = balance->rank[i].util;
    return most;
}

/* The new bitmap; whether bits were lost: those stay for now if keep. */
static bool note_busy(const hpcb_balance_conf_t *conf, bool keep,
                      hpcb_balance_t *balance)
{
    double most = highest(balance);
    bool lost = false;

    for (unsigned i = 0; i < balance->n; i++) {
        hpcb_balance_rank_t *rank = &balance->rank[i];
        double percent = most > 0 ? 100 * rank->util / most : 0;
        bool busy = percent > conf->busy ||
                    (rank->busy && percent > (double)conf->busy - HYSTERESIS);

        if (!rank->known)
            continue;
        lost = lost || (rank->busy && !busy);
        rank->busy = busy || (keep && rank->busy);
    }
    return lost;
}

static bool all_best(const hpcb_balance_conf_t *conf,
                     const hpcb_balance_places_t *places, hpcb_balance_t *balance)
{
    hpcb_balance_group_t group;
    bool changed = false;

    for (unsigned place = 0; place < places->n;) {
        place = hpcb_balance_group(places, balance, place, &group);
        hpcb_balance_best(conf, &group);
        changed = hpcb_balance_assign(&group, balance) || changed;
    }
    return changed;
}

static unsigned prioritize(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places, bool predict,
                           hpcb_balance_t *balance)
{
    bool changed = predict ? all_best(conf, places, balance)
                           : hpcb_balance_resource(conf, places, balance);

    balance->dlrb.stage = HPCB_BALANCE_STEADY;
    balance->dlrb.changed = changed;
    return changed ? HPCB_BALANCE_REPRIORITIZED : 0;
}

/* A phase begins: move, and then measure without priorities if need be. */
static unsigned begin_phase(const hpcb_balance_conf_t *conf,
                            const hpcb_balance_places_t *places, bool predict,
                            hpcb_balance_t *balance)
{
    unsigned done = 0;

    memset(balance->dlrb.tried, 0, sizeof(balance->dlrb.tried));
    if (hpcb_balance_load(conf, places, balance))
        done |= HPCB_BALANCE_MOVED;
    if (!done && predict)
        return prioritize(conf, places, predict, balance);
    if (hpcb_balance_neutral(conf, balance))
        done |= HPCB_BALANCE_REPRIORITIZED;
    if (!done)
        return prioritize(conf, places, predict, balance);
    balance->dlrb.stage = HPCB_BALANCE_NEUTRAL;
    balance->dlrb.changed = true;
    return done;
}

/* Change what is necessary after an iteration. */
static unsigned act(const hpcb_balance_conf_t *conf,
                    const hpcb_balance_places_t *places, bool predict, bool lost,
                    hpcb_balance_t *balance)
{
    if (balance->dlrb.stage == HPCB_BALANCE_BLIND)
        return begin_phase(conf, places, predict, balance);
    if (balance->dlrb.stage == HPCB_BALANCE_STEADY && lost && !balance->dlrb.changed) {
        balance->dlrb.phases++;
        return begin_phase(conf, places, predict, balance);
    }
    return prioritize(conf, places, predict, balance);
}

static void note_change(hpcb_balance_dlrb_t *dlrb, bool changed)
{
    dlrb->history = dlrb->history << 1 | changed;
}

/* The same, but only to see whether there is something: it has to come twice. */
static bool wants(const hpcb_balance_conf_t *conf, const hpcb_balance_places_t *places,
                  bool predict, bool lost, hpcb_balance_t *balance)
{
    const unsigned n = balance->n;
    uint8_t before[HPCB_BALANCE_RANKS];
    bool changed;

    if (lost)
        return true;
    for (unsigned i = 0; i < n; i++)
        before[i] = balance->rank[i].priority;
    changed = prioritize(conf, places, predict, balance) != 0;
    for (unsigned i = 0; i < n; i++)
        balance->rank[i].priority = before[i];
    balance->dlrb.changed = false;
    return changed;
}

unsigned hpcb_balance_dlrb(const hpcb_balance_conf_t *conf,
                           const hpcb_balance_places_t *places, bool predict,
                           hpcb_balance_t *balance)
{
    hpcb_balance_dlrb_t *dlrb = &balance->dlrb;
    bool nervous = dlrb->stage == HPCB_BALANCE_STEADY &&
                   __builtin_popcount(dlrb->history & 0xff) >= NERVOUS;
    bool wait = nervous && !dlrb->pending;
    bool lost = note_busy(conf, wait, balance);
    unsigned done;

    if (wait) {
        dlrb->pending = wants(conf, places, predict, lost, balance);
        note_change(dlrb, false);
        return 0;
    }
    dlrb->pending = false;
    done = act(conf, places, predict, lost, balance);
    note_change(dlrb, done != 0);
    return done;
}
