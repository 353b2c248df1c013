/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Balancing ranks is hpcbd's work.  A step leaves word which processes its ranks are
 * (common/ranks.h) and gives each a page to say how its iterations go (common/page.h);
 * libhpcb_mpi.so, which writes it, is there by spank/yield.h.
 */
#ifndef HPCB_SPANK_BALANCE_H
#define HPCB_SPANK_BALANCE_H

#include "spank/setup.h"

/* slurm_spank_init_post_opt, root: decide whether the step is to be balanced; the log
 * says why not, once. */
void hpcb_spank_balance_decide(const hpcb_step_t *step);

/* slurm_spank_user_init: take a page out of the environment that is none of this
 * step's; print one line to the user if this node cannot honour the option. */
void hpcb_spank_balance_user(spank_t sp);

/* slurm_spank_task_post_fork, root; pid is the waiting task.  Never waits. */
void hpcb_spank_balance_task(spank_t sp, const hpcb_step_t *step, pid_t pid);

/* slurm_spank_task_init, in the task. */
void hpcb_spank_balance_env(spank_t sp);

/* slurm_spank_exit: no rank is left. */
void hpcb_spank_balance_exit(const hpcb_step_t *step);

#endif
