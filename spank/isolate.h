/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests are lowered before their code runs; nothing here touches a primary.  Three
 * moments, because slurmstepd and the forked task run side by side until the task is
 * released:
 *
 *  privileged   in the task, root: what slurmstepd itself sets in the task after fork
 *               and would overwrite if we set it from outside (oom_score_adj; 22.05
 *               resets it just before this hook);
 *  task         in slurmstepd, root, the task waits: everything else;
 *  verify       in the task, user: read back from the kernel; nothing that slurmstepd
 *               remembers counts.
 */
#ifndef HPCB_SPANK_ISOLATE_H
#define HPCB_SPANK_ISOLATE_H

#include "spank/setup.h"

/* slurm_spank_task_init_privileged, any class. */
void hpcb_spank_isolate_privileged(const hpcb_step_t *step);

/* slurm_spank_task_post_fork, any class; pid is the waiting task. */
void hpcb_spank_isolate_task(const hpcb_step_t *step, pid_t pid);

/* The same, for primaries: they get their due on wide nodes
 * (cgroup/mechanism_primary.c). Only the first call of the process does anything. */
void hpcb_spank_isolate_primary(spank_t sp, const hpcb_step_t *step, pid_t pid);

/* slurm_spank_task_init, any class.  Does not return for a guest that nothing isolates:
 * one line on stderr, _exit(1). */
void hpcb_spank_isolate_verify(const hpcb_step_t *step);

#endif
