/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/waiter.h"
#include "policy/share.h"

/* Of a wait, so that a rank that has only just begun to sleep is not taken for one that
 * spins. */
#define READY_SCANS 2

/* Priority of a spinning rank below the others. */
#define DIFFERENCE 3

static bool changed(hpcb_waiter_t *waiter, bool spins)
{
    bool was = waiter->spins;

    waiter->spins = spins;
    return was != spins;
}

hpcb_waiter_said_t hpcb_waiter_scan(hpcb_waiter_t *waiter, uint64_t waits)
{
    if (waits != waiter->waits || waits % 2 == 0) {
        waiter->waits = waits;
        waiter->ready = 0;
        waiter->asleep = false;
        return changed(waiter, false) ? HPCB_WAITER_CHANGED : HPCB_WAITER_SAME;
    }
    return waiter->spins || waiter->asleep ? HPCB_WAITER_SAME : HPCB_WAITER_ASK;
}

bool hpcb_waiter_wants(hpcb_waiter_t *waiter, bool wants)
{
    waiter->asleep = !wants;
    if (waiter->asleep || ++waiter->ready < READY_SCANS)
        return false;
    return changed(waiter, true);
}

bool hpcb_waiter_unknown(hpcb_waiter_t *waiter)
{
    return changed(waiter, false);
}

bool hpcb_waiter_is_lowered(const hpcb_waiter_t *waiter, bool balance_waiters,
                            const hpcb_balance_conf_t *conf,
                            const hpcb_balance_t *balance)
{
    return balance_waiters && waiter->spins && !hpcb_balance_rests(conf, balance);
}

uint32_t hpcb_waiter_weight(uint32_t weight)
{
    return hpcb_share_weight(DIFFERENCE, weight);
}

uint32_t hpcb_waiter_time(uint32_t time)
{
    uint32_t least = hpcb_share_time(DIFFERENCE);

    return time < least ? time : least;
}
