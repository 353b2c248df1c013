/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What of a cluster is promised to end when: the CPUs (or the memory) of running jobs
 * by the ends that their limits give, for backfill's question "when will so many be
 * free?", in O(log).  Ends are rounded up to a grain that is fixed at the beginning.
 */
#ifndef HPCB_SIM_PLAN_H
#define HPCB_SIM_PLAN_H

#include <stdint.h>

typedef struct {
    int64_t *sum; /* a Fenwick tree of amounts by bins of time */
    int64_t from_ns, grain_ns;
} hpcb_sim_plan_t;

/* For ends of [from, to], which later ones count as.  0, or -1 with errno. */
int hpcb_sim_plan_begin(hpcb_sim_plan_t *plan, int64_t from_ns, int64_t to_ns);
void hpcb_sim_plan_free(hpcb_sim_plan_t *plan);

/* A job with that end has begun (amount) or is gone (-amount). */
void hpcb_sim_plan_add(hpcb_sim_plan_t *plan, int64_t end_ns, int64_t amount);

/* By when at least that amount (> 0) has ended; INT64_MAX where never. */
int64_t hpcb_sim_plan_when(const hpcb_sim_plan_t *plan, int64_t amount);

/* How much has ended by a moment that hpcb_sim_plan_when said. */
int64_t hpcb_sim_plan_by(const hpcb_sim_plan_t *plan, int64_t when_ns);

#endif
