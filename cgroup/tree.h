/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Removal of whole groups of ours.  Bounded: a job that forks faster than its processes
 * are moved yields EBUSY.
 */
#ifndef HPCB_CGROUP_TREE_H
#define HPCB_CGROUP_TREE_H

#include "common/error.h"

/* Move the processes of group dir and of the groups below it to group to.  Return 0, or
 * -1 with errno and err if one could not be moved. */
int hpcb_tree_drain(const char *dir, const char *to, hpcb_error_t *err);

/* Drain and remove dir and all groups below it.  Return 0, also if there is none; -1
 * with errno (EBUSY: still in use) and err. */
int hpcb_tree_remove(const char *dir, const char *to, hpcb_error_t *err);

#endif
