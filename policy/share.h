/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How much the lower of two hardware threads of a core gets, by the difference of their
 * priorities: table 2.1 of Boneti's thesis (formula 2.1: the lower thread decodes in 1
 * of R = 2^(difference + 1) cycles).  POWER does that in hardware.  Elsewhere only time
 * can be shared out: a thread that runs the part f of the time beside another, as
 * equals while it runs, decodes in f / 2 of all cycles, so f = 2 / R.
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

#endif
