/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Lowering of guests before their code runs; primaries are not changed.  This takes
 * three hooks, because slurmstepd and the forked task run concurrently until the task
 * is released:
 *
 *  privileged   in the task, root: settings that slurmstepd itself makes in the task
 *               after fork and would overwrite (oom_score_adj; 22.05 resets it
 *               immediately before this hook);
 *  task         in slurmstepd, root, while the task waits: everything else;
 *  verify       in the task, user: check of the kernel's state, independent of what
 *               slurmstepd has stored.
 */
#ifndef HPCB_SPANK_ISOLATE_H
#define HPCB_SPANK_ISOLATE_H

#include "spank/setup.h"

/* slurm_spank_task_init_privileged, any class. */
void hpcb_spank_isolate_privileged(const hpcb_step_t *step);

/* slurm_spank_task_post_fork, any class; pid is the waiting task. */
void hpcb_spank_isolate_task(const hpcb_step_t *step, pid_t pid);

/* slurm_spank_task_post_fork, for primaries: give them their weight on wide nodes
 * (cgroup/mechanism_primary.c).  Only the first call of the process has an effect. */
void hpcb_spank_isolate_primary(spank_t sp, const hpcb_step_t *step, pid_t pid);

/* slurm_spank_task_init, any class.  Does not return for a guest that is not isolated:
 * one line on stderr, _exit(1). */
void hpcb_spank_isolate_verify(const hpcb_step_t *step);

#endif
