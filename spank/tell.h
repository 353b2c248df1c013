/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Notifications of hpcbd about a step. */
#ifndef HPCB_SPANK_TELL_H
#define HPCB_SPANK_TELL_H

#include "spank/setup.h"

/* slurm_spank_task_post_fork, after everything else was done for the waiting task pid.
 * With the last task of the step on this node, while all of them wait: record the
 * directory of the job and its cores and notify hpcbd, once.  Never blocks; no effect
 * without hpcbd. */
void hpcb_spank_tell_task(spank_t sp, const hpcb_step_t *step, pid_t pid);

#endif
