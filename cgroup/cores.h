/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Hardware threads that share a core, from sysfs below the node's root. */
#ifndef HPCB_CGROUP_CORES_H
#define HPCB_CGROUP_CORES_H

#include "cgroup/node.h"
#include "policy/siblings.h"

/* Get the cores of all CPUs.  Return 0, or -1 with err if sysfs does not have them. */
int hpcb_node_cores(const hpcb_node_t *node, hpcb_cores_t *cores, hpcb_error_t *err);

/* Return 0 if a core has two threads; -1 with the reason otherwise. */
int hpcb_node_smt(const hpcb_node_t *node, hpcb_error_t *err);

#endif
