/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Usage of a job on this node, for guests and primaries.  A job that cannot be metered
 * runs anyway: every failure is only a line at debug level.
 */
#ifndef HPCB_SPANK_USAGE_H
#define HPCB_SPANK_USAGE_H

#include "spank/setup.h"

/* slurm_spank_init_post_opt: record to which array the job belongs. */
void hpcb_spank_usage_array(spank_t sp, const hpcb_step_t *step);

/* slurm_spank_task_post_fork: put the waiting task into the meter. */
void hpcb_spank_usage_attach(const hpcb_step_t *step, uint32_t task, pid_t pid);

/* slurm_spank_task_exit: when the last of the step's tasks on this node has ended, read
 * Slurm's own job directory, which does not exist any more at slurm_spank_exit. */
void hpcb_spank_usage_task_exit(spank_t sp, const hpcb_step_t *step);

/* slurm_spank_exit: add the step's usage to that of the job in StateDir, if the job
 * still has a record (the epilog may have been faster). */
void hpcb_spank_usage_exit(const hpcb_step_t *step);

#endif
