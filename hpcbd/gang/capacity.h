/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What this node can move: as hpc-balance.conf says (NodeName), else as it has measured
 * itself (hpcbd/node/capacity.h).  0: not known. */
#ifndef HPCB_HPCBD_GANG_CAPACITY_H
#define HPCB_HPCBD_GANG_CAPACITY_H

#include "policy/fitness.h"

/* By the lines of conf_path for this node.  Reads the whole file: not at an edge. */
void hpcbd_gang_capacity_told(const char *conf_path, hpcb_bw_t *told);

/* What was told, and what StateDir says now of the rest. */
void hpcbd_gang_capacity(const hpcb_bw_t *told, const char *state_dir,
                         hpcb_bw_t *capacity);

#endif
