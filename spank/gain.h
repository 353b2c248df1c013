/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#ifndef HPCB_SPANK_GAIN_H
#define HPCB_SPANK_GAIN_H

#include "spank/setup.h"

/*
 * slurm_spank_task_exit, after hpcb_spank_usage_task_exit: at the end of the batch
 * script of a guest, or of a job with --hpc-balance, print one line to the job's stderr
 * about its CPU time on this node.  usage: to be added to StateDir's, of scope.
 */
void hpcb_spank_gain_print(spank_t sp, const hpcb_step_t *step,
                           const hpcb_usage_t *usage, hpcb_usage_scope_t scope);

#endif
