/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * End of killed guests.  The kernel releases a process at the process' own priority,
 * which takes an idle guest next to a busy primary long: for 2 GiB of small pages more
 * than a minute, after which Slurm gives up ("Kill task failed", UnkillableStepTimeout)
 * and drains the node.  An exiting task cannot move to another cgroup, but its
 * scheduling policy can be changed.
 *
 * So a thread of slurmstepd checks every few seconds whether a task of the step has
 * ended, and if so raises those processes of the job of which every thread is exiting,
 * and only those: no user code runs in them any more, and their remaining work is
 * bounded by what they allocated.
 */
#ifndef HPCB_SPANK_DYING_H
#define HPCB_SPANK_DYING_H

#include "spank/setup.h"

/* slurm_spank_task_post_fork, root: watch this task too, if it is a guest's.  The first
 * call starts the thread. */
void hpcb_spank_dying_watch(const hpcb_step_t *step, pid_t pid);

/* slurm_spank_exit: end the thread.  Returns when it has finished its present work,
 * after some ten milliseconds at most, because no thread may outlive the plugin's
 * code. */
void hpcb_spank_dying_stop(void);

#endif
