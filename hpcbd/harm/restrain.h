/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Restricts guests of this node while they cost a primary more than GuestMaxSlowdown:
 * to half of the time, to a quarter, stopped, requeued (policy/guard.h decides, from
 * what experiments find).  What comes before these, HPCB_GUARD_SLICES, restricts nobody
 * (hpcbd/harm/slices.h).
 */
#ifndef HPCB_HPCBD_HARM_RESTRAIN_H
#define HPCB_HPCBD_HARM_RESTRAIN_H

#include "hpcbd/hpcbd.h"
#include "hpcbd/node/registry.h"
#include "policy/guard.h"

typedef struct {
    hpcb_guard_level_t level; /* now, of the guest that is restricted most */
    uint64_t steps;           /* that restricted guests further */
    uint64_t requeues;        /* guests that Slurm was asked for */
} hpcbd_restrain_stats_t;

extern const hpcbd_part_t hpcbd_restrain;

/* What a guest may do, by the primary for which it is restricted most; below
 * HPCB_GUARD_REQUEUE. */
typedef hpcb_guard_level_t (*hpcbd_restrain_fn)(const hpcbd_job_t *guest);

/* From the experiments: each guest's level is as level_of says from now on, which is
 * called again for each guest in each turn; NULL: all run freely.  further: some are
 * restricted further than before. */
void hpcbd_restrain_guests(hpcbd_restrain_fn level_of, bool further);

/* From the experiments: Slurm is to requeue the guest, whatever its level is. */
void hpcbd_restrain_requeue(const hpcbd_job_t *guest);

const hpcbd_restrain_stats_t *hpcbd_restrain_stats(void);

#endif
