/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Shares of two hardware threads of a core by their priorities: formula 2.1 and tables
 * 2.1 to 2.3 of Boneti's thesis (the lower thread decodes in 1 of R = 2^(difference +
 * 1) cycles, the higher one in the others), and substitutes that give the same shares
 * on hardware without such priorities.
 *
 *  - Two tasks on one CPU: weights.  They share its time in proportion to their
 *    weights, which are R - 1 to 1.
 *  - Two threads of one core without priorities: only time can be divided.  A thread
 *    that runs the part f of the time next to another one, with equal rights while it
 *    runs, decodes in f / 2 of all cycles, so f = 2 / R.
 *  - POWER, set by the program itself: the PPR, of which user code has three levels.
 *
 * Difference 5 is priority 1 against 6 (table 2.3, "takes what is left over"; section
 * 2.5.5 calls it transparent).  Time cannot be divided like that.  Difference 5 then
 * means the minimum quota of the kernel in its usual period, 1 ms of 100 ms.
 */
#ifndef HPCB_POLICY_SHARE_H
#define HPCB_POLICY_SHARE_H

#include <stdint.h>

#define HPCB_SHARE_DIFFERENCE_MAX 5
#define HPCB_SHARE_ONE            1000000 /* all the time of one CPU */

/* Return R of formula 2.1; 0 for difference 5, which has none.  A larger difference
 * counts as 5. */
unsigned hpcb_share_slots(unsigned difference);

/* Return the part of the time of one CPU, in millionths. */
uint32_t hpcb_share_time(unsigned difference);

/* Return the quota for share (in millionths of one CPU; above HPCB_SHARE_ONE for
 * several) in each period, both in microseconds; at least the minimum of the kernel
 * (min_cfs_quota_period, 1 ms). */
uint64_t hpcb_share_quota(uint64_t share, uint64_t period_us);

/*
 * Return the weight of a task with a priority `difference` below the highest on its
 * CPU, of which the weight is top (cpu.weight 100, cpu.shares 1024): rounded, at least
 * 1.  Weights are never above the default, so that tasks outside of the job's ranks,
 * such as slurmstepd, are not pushed back.  Of three tasks the middle one gets slightly
 * more than its difference to the highest implies.
 */
uint32_t hpcb_share_weight(unsigned difference, uint32_t top);

/* Return the PPR level that user code may set for a thread with a priority `difference`
 * below the highest of its core: 4, 3, 2, and 2 for larger differences. */
unsigned hpcb_share_ppr(unsigned difference);

#endif
