/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Bandwidths of nodes in hpc-balance.conf, one set of nodes per line:
 *
 *	NodeName=n[1-4] MemBandwidth=20G NetBandwidth=1G
 *
 * Lines may overlap: for each node and each of the two figures the last line that sets
 * it counts.  Pure; the lines of a file come from hpcb_conf_capacities (common/conf.h).
 */
#ifndef HPCB_COMMON_CAPACITY_H
#define HPCB_COMMON_CAPACITY_H

#include <stdint.h>
#include "common/error.h"

/* Maximum number of lines in a file. */
#define HPCB_CAPACITIES_MAX 256

/* Including the NUL. */
#define HPCB_NODES_MAX 512

/* Maximum bandwidth of a node in bytes/s. */
#define HPCB_BANDWIDTH_MAX (UINT64_C(1) << 60)

typedef struct {
    char nodes[HPCB_NODES_MAX]; /* Slurm's hostlist expression, or "ALL"; its syntax is
                                   checked, it is not expanded */
    uint64_t mem, net;          /* bytes/s per node; 0: not set; at least one is set */
} hpcb_capacity_t;

/* Parse a line (keys are case-insensitive, separated by blanks).  Return 0, or -1 with
 * err, which names the error but not the file, and row unchanged. */
int hpcb_capacity_parse(const char *line, hpcb_capacity_t *row, hpcb_error_t *err);

#endif
