/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests that get next to no CPU time next to primaries that never wait: stops them,
 * continues them when their CPUs become idle, and has Slurm requeue those that starve
 * (policy/guard.h decides).  Scans each guest once a second.
 */
#ifndef HPCB_HPCBD_HARM_CRUMBS_H
#define HPCB_HPCBD_HARM_CRUMBS_H

#include "hpcbd/hpcbd.h"

typedef struct {
    unsigned stopped;  /* guests that are stopped now */
    uint64_t stops;    /* since the daemon started */
    uint64_t requeues; /* requested from Slurm */
} hpcbd_crumbs_stats_t;

extern const hpcbd_part_t hpcbd_crumbs;

const hpcbd_crumbs_stats_t *hpcbd_crumbs_stats(void);

#endif
