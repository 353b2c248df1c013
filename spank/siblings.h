/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests beside primaries on one core (cgroup/siblings.h).  Where the kernel has core
 * scheduling a cookie settles it at launch; elsewhere it depends on where primaries are
 * just now, so a guest's slurmstepd looks again when one of them comes or goes.  Nobody
 * sends a message: a primary's slurmstepd touches StateDir/placement, and the guests'
 * look at its time stamp.
 */
#ifndef HPCB_SPANK_SIBLINGS_H
#define HPCB_SPANK_SIBLINGS_H

#include "spank/setup.h"

/* slurm_spank_task_post_fork, root, any class, after isolation: pid waits.  For a
 * primary this tells the guests of the node. */
void hpcb_spank_siblings_task(const hpcb_step_t *step, pid_t pid);

/* From the thread that watches over a guest's step (spank/dying.c), every few seconds:
 * one stat(2) as long as nothing changes, and a look at the cookies. */
void hpcb_spank_siblings_renew(const hpcb_step_t *step);

/* slurm_spank_task_init, in a guest's task, as the user: 0, or -1 with err where
 * hpc-balance.conf demands what is not in force. */
int hpcb_spank_siblings_verify(const hpcb_step_t *step, hpcb_error_t *err);

/* slurm_spank_exit, after that thread has ended; tells the guests of the node where the
 * step was a primary's. */
void hpcb_spank_siblings_exit(const hpcb_step_t *step);

#endif
