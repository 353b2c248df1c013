/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Sleeps instead of long MPI waits: preloads libhpcb_mpi.so before the job's own
 * preloads, and removes it if it came with another job's or step's environment (as
 * HPCB_YIELD_JOB shows).
 */
#ifndef HPCB_SPANK_YIELD_H
#define HPCB_SPANK_YIELD_H

#include "spank/setup.h"

/* slurm_spank_init_post_opt, root: decide, and check the library. */
void hpcb_spank_yield_decide(const hpcb_step_t *step);

/* slurm_spank_user_init: set the environment of the step's tasks, and notify the user
 * of a step's option that cannot take effect. */
void hpcb_spank_yield_env(spank_t sp, const hpcb_step_t *step);

#endif
