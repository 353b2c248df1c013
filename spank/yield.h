/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Turning long MPI waits into sleeps: puts libhpcb_mpi.so before whatever the job
 * preloads itself, and takes it out again where it came with another job's or step's
 * environment (HPCB_YIELD_JOB says that it did).
 */
#ifndef HPCB_SPANK_YIELD_H
#define HPCB_SPANK_YIELD_H

#include "spank/setup.h"

/* slurm_spank_init_post_opt, root: decide, and look at the library. */
void hpcb_spank_yield_decide(const hpcb_step_t *step);

/* slurm_spank_user_init: set the environment of the step's tasks, and tell the user of
 * a step's option that cannot take effect. */
void hpcb_spank_yield_env(spank_t sp, const hpcb_step_t *step);

#endif
