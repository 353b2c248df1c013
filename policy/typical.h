/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A lower bound for the cost of guests, from the typical stops among a few
 * (policy/harm.h).
 *
 * A kernel thread or a daemon that takes a CPU for some milliseconds is a large part of
 * a time without guests of 0.2 s.  In a dozen stops a few such times outweigh the cost
 * of guests, and the interval of the mean is wide.  So the largest and the smallest
 * values are trimmed, and the interval is that of trimmed means (Yuen, 1974).
 *
 * The disturbances are left out of the times without guests by that, which look better
 * than they are.  Therefore the times with guests are read in parts of the same length,
 * which the same disturbances hit as often, and are trimmed alike; the bound is by the
 * difference.  Harm that guests do in rare pieces is trimmed too: the bound is below
 * it, and only the mean (hpcb_harm_estimate) includes it.
 */
#ifndef HPCB_POLICY_TYPICAL_H
#define HPCB_POLICY_TYPICAL_H

#include <stdbool.h>
#include <stddef.h>

/* Parts of the times with guests in one experiment. */
#define HPCB_TYPICAL_PARTS 12

/* There is a bound only as long as there are no more stops.  With more of them the mean
 * is precise. */
#define HPCB_TYPICAL_STOPS 32

/* All zero: no stop yet.  Owned by the caller. */
typedef struct {
    double cost[HPCB_TYPICAL_STOPS]; /* logarithms, as in hpcb_harm_t */
    double part[HPCB_TYPICAL_STOPS * HPCB_TYPICAL_PARTS];
    size_t count; /* of stops ever */
} hpcb_typical_t;

/* Add a stop.  cost: logarithm of the rate without guests to that with guests.  part:
 * of the rate in each part of the times with guests to that in the whole. */
void hpcb_typical_add(hpcb_typical_t *typical, double cost,
                      const double part[HPCB_TYPICAL_PARTS]);

/* Get the bound, a part of the primary's run time.  In 97.5 of 100 cases the cost is
 * higher.  Return false, with *least unchanged, if there are too few stops or too many.
 */
bool hpcb_typical_least(const hpcb_typical_t *typical, double *least);

#endif
