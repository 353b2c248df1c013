/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How much each of two hardware threads of a core gets, by their priorities: formula
 * 2.1 and tables 2.1 to 2.3 of Boneti's thesis (the lower thread decodes in 1 of R =
 * 2^(difference + 1) cycles, the higher one in the others), and what gives the same
 * shares where there is no such hardware.
 *
 *  - Two tasks of one CPU: weights.  They share its time as their weights do, so the
 *    weights are as R - 1 to 1.
 *  - Two threads of one core without priorities: only time can be shared out.  A thread
 *    that runs the part f of the time beside another, as equals while it runs, decodes
 *    in f / 2 of all cycles, so f = 2 / R.
 *  - POWER, set by the program itself: the PPR, of which user code has three levels.
 *
 * Difference 5 is priority 1 beside 6 (table 2.3, "takes what is left over"; section
 * 2.5.5 calls it transparent).  Time cannot be shared out like that: it stands for the
 * least that the kernel's quota takes in its usual period, 1 ms of 100 ms.
 */
#ifndef HPCB_POLICY_SHARE_H
#define HPCB_POLICY_SHARE_H

#include <stdint.h>

#define HPCB_SHARE_DIFFERENCE_MAX 5
#define HPCB_SHARE_ONE            1000000 /* all the time of one CPU */

/* R of formula 2.1; 0 for difference 5, where there is none.  A larger difference
 * counts as 5. */
unsigned hpcb_share_slots(unsigned difference);

/* The part of the time of one CPU, in millionths. */
uint32_t hpcb_share_time(unsigned difference);

/* The quota that gives share (in millionths of one CPU; of several it may be more than
 * HPCB_SHARE_ONE) in each period, both in microseconds, and not less than the kernel
 * takes (min_cfs_quota_period, 1 ms). */
uint64_t hpcb_share_quota(uint64_t share, uint64_t period_us);

/*
 * The weight of a task whose priority is `difference` below the highest on its CPU, of
 * which the weight is top (cpu.weight 100, cpu.shares 1024): rounded, at least 1.
 * Weights only go down from the usual one, so that nothing outside of the job, such as
 * its slurmstepd, is pushed back.  Among three tasks the middle one gets a little more
 * than its difference to the highest would say.
 */
uint32_t hpcb_share_weight(unsigned difference, uint32_t top);

/* The PPR level that user code may set for a thread whose priority is `difference`
 * below the highest of its core: 4, 3, 2, and 2 for all larger ones. */
unsigned hpcb_share_ppr(unsigned difference);

#endif
