/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The machine in four numbers, through hwloc. */
#ifndef HPCB_HPCBCTL_CALIBRATE_TOPOLOGY_H
#define HPCB_HPCBCTL_CALIBRATE_TOPOLOGY_H

#include <stdbool.h>
#include "common/error.h"

/* 0 = hwloc cannot tell.  Only what the caller's cpuset allows is counted. */
typedef struct {
    unsigned packages;
    unsigned numa_nodes;
    unsigned cores;
    unsigned threads; /* hardware threads */
    bool smt;         /* a core has more than one of them */
} hpcb_topology_t;

/* Look at this machine, or at hwloc's synthetic description of one (tests).  0, or -1
 * with err; topology is then untouched. */
int hpcb_topology_read(const char *synthetic, hpcb_topology_t *topology,
                       hpcb_error_t *err);

#endif
