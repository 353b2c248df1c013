/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Where the primaries of this node may run just now. */
#ifndef HPCB_CGROUP_HELD_H
#define HPCB_CGROUP_HELD_H

#include "cgroup/mechanism.h"
#include "policy/cpus.h"

/*
 * Join the affinities of all threads of all primaries' tasks on this node, as they are
 * bound now.  A job is no primary when it is the target's or when the kernel has it
 * lowered as a guest (in the guests' group on v1, cpu.idle or the lowest cpu.weight on
 * v2); a job that is neither counts as a primary.  -1 with err where Slurm's
 * directories cannot be found (no cgroups for processes) or a job has more threads
 * than can be looked at: then every CPU may be held.
 *
 * One system call a thread and one small directory a process: called when jobs come and
 * go, not in a loop.
 */
int hpcb_held_cpus(const hpcb_target_t *target, hpcb_cpus_t *held, hpcb_error_t *err);

#endif
