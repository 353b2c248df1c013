/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a job uses on this node, of guests and primaries alike.  A job that cannot be
 * metered runs all the same: nothing here is more than a line at debug level.
 */
#ifndef HPCB_SPANK_USAGE_H
#define HPCB_SPANK_USAGE_H

#include "spank/setup.h"

/* slurm_spank_init_post_opt: of which array the job is an element, for its record. */
void hpcb_spank_usage_array(spank_t sp, const hpcb_step_t *step);

/* slurm_spank_task_post_fork: put the waiting task under the meter. */
void hpcb_spank_usage_attach(const hpcb_step_t *step, uint32_t task, pid_t pid);

/* slurm_spank_task_exit: when the last of the step's tasks on this node has ended, read
 * what Slurm's own job directory says; at slurm_spank_exit it is gone. */
void hpcb_spank_usage_task_exit(spank_t sp, const hpcb_step_t *step);

/* slurm_spank_exit: add what the step used to the job's usage in StateDir, if the job
 * is recorded there at this moment (the epilog may have been faster). */
void hpcb_spank_usage_exit(const hpcb_step_t *step);

#endif
