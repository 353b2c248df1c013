/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Future ends of a cluster's allocations: CPUs (or memory) of running jobs by the ends
 * of their limits, for backfill's question "when will so many be free?", in O(log).
 * Ends are rounded up to a fixed grain.
 */
#ifndef HPCB_SIM_PLAN_H
#define HPCB_SIM_PLAN_H

#include <stdint.h>

typedef struct {
    int64_t *sum; /* a Fenwick tree of amounts by bins of time */
    int64_t from_ns, grain_ns;
} hpcb_sim_plan_t;

/* Begin, for ends in [from, to]; later ones count as to.  Return 0, or -1 with
 * errno. */
int hpcb_sim_plan_begin(hpcb_sim_plan_t *plan, int64_t from_ns, int64_t to_ns);
void hpcb_sim_plan_free(hpcb_sim_plan_t *plan);

/* Add a job with that end (amount), or remove it (-amount). */
void hpcb_sim_plan_add(hpcb_sim_plan_t *plan, int64_t end_ns, int64_t amount);

/* Return the time at which at least that amount (> 0) has ended; INT64_MAX if never. */
int64_t hpcb_sim_plan_when(const hpcb_sim_plan_t *plan, int64_t amount);

/* Return the amount that has ended by a time that hpcb_sim_plan_when returned. */
int64_t hpcb_sim_plan_by(const hpcb_sim_plan_t *plan, int64_t when_ns);

#endif
