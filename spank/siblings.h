/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests that share a core with primaries (cgroup/siblings.h).  If the kernel has core
 * scheduling, a cookie at launch is enough; otherwise the measures depend on the
 * present CPUs of primaries, so a guest's slurmstepd checks them when a primary starts
 * or ends.  No messages are sent: a primary's slurmstepd touches StateDir/placement,
 * and those of guests check its time stamp.
 */
#ifndef HPCB_SPANK_SIBLINGS_H
#define HPCB_SPANK_SIBLINGS_H

#include "spank/setup.h"

/* slurm_spank_task_post_fork, root, any class, after isolation: pid waits.  For a
 * primary this notifies the guests of the node. */
void hpcb_spank_siblings_task(const hpcb_step_t *step, pid_t pid);

/* From the thread that watches a guest's step (spank/dying.c), every few seconds: one
 * stat(2) if nothing has changed, and a check of the cookies. */
void hpcb_spank_siblings_renew(const hpcb_step_t *step);

/* slurm_spank_task_init, in a guest's task, as the user: return 0, or -1 with err if a
 * measure that hpc-balance.conf requires is not in force. */
int hpcb_spank_siblings_verify(const hpcb_step_t *step, hpcb_error_t *err);

/* slurm_spank_exit, after that thread has ended; notifies the guests of the node if the
 * step was a primary's. */
void hpcb_spank_siblings_exit(const hpcb_step_t *step);

#endif
