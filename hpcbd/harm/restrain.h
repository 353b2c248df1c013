/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Restricts the guests of this node while they cost a primary more than
 * GuestMaxSlowdown: to half of the time, to a quarter, stopped, requeued
 * (policy/guard.h decides, from what experiments find).  What comes before these,
 * HPCB_GUARD_SLICES, restricts nobody (hpcbd/harm/slices.h).
 */
#ifndef HPCB_HPCBD_HARM_RESTRAIN_H
#define HPCB_HPCBD_HARM_RESTRAIN_H

#include "hpcbd/hpcbd.h"
#include "policy/guard.h"

typedef struct {
    hpcb_guard_level_t level; /* now */
    uint64_t steps;           /* that restricted guests further */
    uint64_t requeues;        /* guests that Slurm was asked for */
} hpcbd_restrain_stats_t;

extern const hpcbd_part_t hpcbd_restrain;

/* From the experiments: what guests of this node may do, by the primary that they cost
 * most; not HPCB_GUARD_SLICES. */
void hpcbd_restrain_guests(hpcb_guard_level_t level);

const hpcbd_restrain_stats_t *hpcbd_restrain_stats(void);

#endif
