/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests that have been killed must be able to die.  The kernel takes a process apart
 * in its own time, which an idle guest beside a busy primary does not get: for 2 GiB of
 * small pages it took more than a minute, and then Slurm gives up ("Kill task failed",
 * UnkillableStepTimeout) and drains the node.  A task that is exiting cannot be moved
 * to another cgroup, but its scheduling policy can be changed.
 *
 * So a thread of slurmstepd looks every few seconds whether a task of the step has
 * ended, and if so lifts those processes of the job of which every thread is exiting,
 * and only those: no code of the user's runs in them any more, and what they take was
 * in its time harder to come by.
 */
#ifndef HPCB_SPANK_DYING_H
#define HPCB_SPANK_DYING_H

#include "spank/setup.h"

/* slurm_spank_task_post_fork, root: watch over this task too, if it is a guest's.  The
 * thread starts with the first one. */
void hpcb_spank_dying_watch(const hpcb_step_t *step, pid_t pid);

/* slurm_spank_exit: end the thread.  Returns as soon as it has finished what it is at,
 * some ten milliseconds at most; no thread may outlive the plugin's code. */
void hpcb_spank_dying_stop(void);

#endif
