/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Directory tree that behaves like a cgroup file system for groups and their processes:
 * a new group has a cgroup.procs, a pid written to one leaves the others, a group in
 * use cannot be removed (EBUSY), an empty one is removed with its files.
 */
#ifndef HPCB_CGROUP_PLAIN_H
#define HPCB_CGROUP_PLAIN_H

#include "cgroup/knob.h"

extern const hpcb_knob_ops_t hpcb_plain_ops;

#endif
