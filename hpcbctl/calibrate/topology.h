/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Number of packages, NUMA nodes, cores and hardware threads, through hwloc. */
#ifndef HPCB_HPCBCTL_CALIBRATE_TOPOLOGY_H
#define HPCB_HPCBCTL_CALIBRATE_TOPOLOGY_H

#include <stdbool.h>
#include "common/error.h"

/* 0: not known to hwloc.  Only resources in the caller's cpuset are counted. */
typedef struct {
    unsigned packages;
    unsigned numa_nodes;
    unsigned cores;
    unsigned threads; /* hardware threads */
    bool smt;         /* a core has several hardware threads */
} hpcb_topology_t;

/* Read this machine, or hwloc's synthetic description of one (tests).  Return 0, or -1
 * with err and topology unchanged. */
int hpcb_topology_read(const char *synthetic, hpcb_topology_t *topology,
                       hpcb_error_t *err);

#endif
