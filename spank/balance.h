/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Preparation of a step for balancing by hpcbd.  The step registers the processes of
 * its ranks (common/ranks.h) and gives each a status page (common/page.h), which
 * libhpcb_mpi.so writes; spank/yield.h loads that.
 */
#ifndef HPCB_SPANK_BALANCE_H
#define HPCB_SPANK_BALANCE_H

#include "spank/setup.h"

/* slurm_spank_init_post_opt, root: decide whether the step is balanced; if not, log the
 * reason once. */
void hpcb_spank_balance_decide(const hpcb_step_t *step);

/* slurm_spank_user_init: remove a page that does not belong to this step from the
 * environment; print one line to the user if this node cannot honour the option. */
void hpcb_spank_balance_user(spank_t sp);

/* slurm_spank_task_post_fork, root; pid is the waiting task.  Never blocks. */
void hpcb_spank_balance_task(spank_t sp, const hpcb_step_t *step, pid_t pid);

/* slurm_spank_task_init, in the task. */
void hpcb_spank_balance_env(spank_t sp);

/* slurm_spank_exit: all ranks have ended. */
void hpcb_spank_balance_exit(const hpcb_step_t *step);

#endif
