/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Which hardware threads share a core, from sysfs below the node's root. */
#ifndef HPCB_CGROUP_CORES_H
#define HPCB_CGROUP_CORES_H

#include "cgroup/node.h"
#include "policy/siblings.h"

/* All of it.  -1 with err where sysfs does not say. */
int hpcb_node_cores(const hpcb_node_t *node, hpcb_cores_t *cores, hpcb_error_t *err);

/* 0 where some core has two threads; -1 and why not. */
int hpcb_node_smt(const hpcb_node_t *node, hpcb_error_t *err);

#endif
