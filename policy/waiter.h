/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Ranks that spin while they wait and share a CPU or core with other ranks: detection,
 * and their share until they continue (BalanceWaiters, hpc-balance.conf(5)).
 *
 * The status page of a rank has a count that is odd during a wait (common/page.h).  A
 * rank spins if it wants its CPU at two successive scans within one wait.  A rank that
 * sleeps is not checked again during that wait.
 */
#ifndef HPCB_POLICY_WAITER_H
#define HPCB_POLICY_WAITER_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/balance.h"

/* State of one rank; all zero at its begin. */
typedef struct {
    uint64_t waits; /* its count at the last scan */
    unsigned ready; /* scans of this wait at which it wanted its CPU */
    bool asleep;    /* its wait does not spin */
    bool spins;
} hpcb_waiter_t;

typedef enum {
    HPCB_WAITER_SAME,
    HPCB_WAITER_CHANGED, /* whether it spins */
    HPCB_WAITER_ASK /* check whether it wants its CPU and call hpcb_waiter_wants() */
} hpcb_waiter_said_t;

/* First half of a scan: the rank's count.  The second half, which costs more, is only
 * necessary after HPCB_WAITER_ASK. */
hpcb_waiter_said_t hpcb_waiter_scan(hpcb_waiter_t *waiter, uint64_t waits);

/* Second half.  Return whether spins has changed. */
bool hpcb_waiter_wants(hpcb_waiter_t *waiter, bool wants);

/* Note that nothing is known of its waits.  Return whether spins has changed. */
bool hpcb_waiter_unknown(hpcb_waiter_t *waiter);

/* Return whether its share is lowered: BalanceWaiters is set, it spins, and auto has
 * not stopped. */
bool hpcb_waiter_is_lowered(const hpcb_waiter_t *waiter, bool balance_waiters,
                            const hpcb_balance_conf_t *conf,
                            const hpcb_balance_t *balance);

/*
 * Return the lowered weight of a rank, and the lowered part of the time that it may run
 * next to other threads of its core, in millionths.  The rank must run now and then to
 * see its message: in one of 16 slices, or an eighth of the time.
 */
uint32_t hpcb_waiter_weight(uint32_t weight);
uint32_t hpcb_waiter_time(uint32_t time);

#endif
