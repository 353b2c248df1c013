/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Which of several ranks on a CPU or core waits and spins, and what it gets until it
 * goes on (BalanceWaiters, hpc-balance.conf(5)).
 *
 * A rank says when it waits: a count that is odd during a wait (common/page.h).  A rank
 * that waits and yet wants its CPU at two scans in a row, within one wait, spins.  One
 * that sleeps is not asked again during that wait.
 */
#ifndef HPCB_POLICY_WAITER_H
#define HPCB_POLICY_WAITER_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/balance.h"

/* Of one rank; all zero at its begin. */
typedef struct {
    uint64_t waits; /* its count */
    unsigned ready; /* scans of this wait at which it wanted its CPU */
    bool asleep;    /* its wait does not spin */
    bool spins;
} hpcb_waiter_t;

typedef enum {
    HPCB_WAITER_SAME,
    HPCB_WAITER_CHANGED, /* whether it spins */
    HPCB_WAITER_ASK      /* see whether it wants its CPU: hpcb_waiter_wants() */
} hpcb_waiter_said_t;

/* A scan, first half: the rank's count.  The question of the second half costs more. */
hpcb_waiter_said_t hpcb_waiter_scan(hpcb_waiter_t *waiter, uint64_t waits);

/* Second half.  Whether spins has changed. */
bool hpcb_waiter_wants(hpcb_waiter_t *waiter, bool wants);

/* Nothing can be known of its waits.  Whether spins has changed. */
bool hpcb_waiter_unknown(hpcb_waiter_t *waiter);

/* Whether its share is lowered: BalanceWaiters says so, it spins, and auto has not
 * given up. */
bool hpcb_waiter_is_lowered(const hpcb_waiter_t *waiter, bool balance_waiters,
                            const hpcb_balance_conf_t *conf,
                            const hpcb_balance_t *balance);

/*
 * What a lowered rank gets in place of its weight; and in place of the part of the time
 * that it may run next to other threads of its core, in millionths.  It has to run now
 * and then, or it would not see its message: one of 16 slices, or an eighth of the
 * time.
 */
uint32_t hpcb_waiter_weight(uint32_t weight);
uint32_t hpcb_waiter_time(uint32_t time);

#endif
