/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* CPUs on which primaries of this node may run at present. */
#ifndef HPCB_CGROUP_HELD_H
#define HPCB_CGROUP_HELD_H

#include "cgroup/mechanism.h"
#include "policy/cpus.h"

/*
 * Join the present affinities of all threads of all primaries' tasks on this node.  The
 * target's job and jobs that the kernel has lowered as guests (in the guests' group on
 * v1, cpu.idle or the lowest cpu.weight on v2) are not primaries; all other jobs are.
 * Return -1 with err if Slurm's directories cannot be found (no cgroups for processes)
 * or a job has too many threads; then any CPU may be in use.
 *
 * Makes one system call per thread and reads one small directory per process: for
 * starts and ends of jobs, not for loops.
 */
int hpcb_held_cpus(const hpcb_target_t *target, hpcb_cpus_t *held, hpcb_error_t *err);

#endif
