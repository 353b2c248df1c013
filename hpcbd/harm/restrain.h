/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Restriction of guests of this node while they cost a primary more than
 * GuestMaxSlowdown: to half of the time, to a quarter, stopped, requeued
 * (policy/guard.h decides by the experiments' results).  The level before these,
 * HPCB_GUARD_SLICES, restricts no guest (hpcbd/harm/slices.h).
 */
#ifndef HPCB_HPCBD_HARM_RESTRAIN_H
#define HPCB_HPCBD_HARM_RESTRAIN_H

#include "hpcbd/hpcbd.h"
#include "hpcbd/node/registry.h"
#include "policy/guard.h"

typedef struct {
    hpcb_guard_level_t level; /* present level of the most restricted guest */
    uint64_t steps;           /* that restricted guests further */
    uint64_t requeues;        /* guests whose requeue was requested from Slurm */
} hpcbd_restrain_stats_t;

extern const hpcbd_part_t hpcbd_restrain;

/* Return the level of a guest, by the primary for which it is most restricted; below
 * HPCB_GUARD_REQUEUE. */
typedef hpcb_guard_level_t (*hpcbd_restrain_fn)(const hpcbd_job_t *guest);

/* For the experiments: restrict each guest to its level by level_of, which is called
 * for each guest in each turn; NULL: no restriction.  further: some are restricted
 * further than before. */
void hpcbd_restrain_guests(hpcbd_restrain_fn level_of, bool further);

/* Return whether the level of the job stops it in the present turn of the wall clock,
 * whether that turn has been carried out yet or not.  False for primaries. */
bool hpcbd_restrain_holds(const hpcbd_job_t *job);

/* For the experiments: have Slurm requeue the guest, whatever its level is. */
void hpcbd_restrain_requeue(const hpcbd_job_t *guest);

const hpcbd_restrain_stats_t *hpcbd_restrain_stats(void);

#endif
