/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What nodes can move, as hpc-balance.conf says it, one set of nodes a line:
 *
 *	NodeName=n[1-4] MemBandwidth=20G NetBandwidth=1G
 *
 * Lines may overlap: for each node and each of the two figures the last line that gives
 * it holds.  Pure; the lines of a file come from hpcb_conf_capacities (common/conf.h).
 */
#ifndef HPCB_COMMON_CAPACITY_H
#define HPCB_COMMON_CAPACITY_H

#include <stdint.h>
#include "common/error.h"

/* Lines that a file may have. */
#define HPCB_CAPACITIES_MAX 256

/* With its NUL. */
#define HPCB_NODES_MAX 512

/* A node moves at most this many bytes/s. */
#define HPCB_BANDWIDTH_MAX (UINT64_C(1) << 60)

typedef struct {
    char nodes[HPCB_NODES_MAX]; /* Slurm's expression of hosts, or "ALL"; its form was
                                   looked at, it was not expanded */
    uint64_t mem, net;          /* bytes/s per node; 0 = not given, at least one is */
} hpcb_capacity_t;

/* Parse one such line (keys without regard to case, blanks between them).  0, or -1
 * with err, which says what is wrong but not where; row is then untouched. */
int hpcb_capacity_parse(const char *line, hpcb_capacity_t *row, hpcb_error_t *err);

#endif
