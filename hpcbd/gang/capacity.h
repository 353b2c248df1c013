/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Bandwidth of this node: from hpc-balance.conf (NodeName), otherwise as measured by
 * the node (hpcbd/node/capacity.h).  0: not known. */
#ifndef HPCB_HPCBD_GANG_CAPACITY_H
#define HPCB_HPCBD_GANG_CAPACITY_H

#include "policy/fitness.h"

/* Get the bandwidth from the lines of conf_path for this node.  Reads the whole file,
 * so not at a switch. */
void hpcbd_gang_capacity_told(const char *conf_path, hpcb_bw_t *told);

/* Combine it with the present values of StateDir for what is not configured. */
void hpcbd_gang_capacity(const hpcb_bw_t *told, const char *state_dir,
                         hpcb_bw_t *capacity);

#endif
