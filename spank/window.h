/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Coordinated windows and the memory of jobs are hpcbd's work; a step only registers
 * the location of its job.
 */
#ifndef HPCB_SPANK_WINDOW_H
#define HPCB_SPANK_WINDOW_H

#include "spank/setup.h"

/* slurm_spank_user_init: print one line to the user if this node cannot honour the
 * option. */
void hpcb_spank_window_user(const hpcb_step_t *step);

#endif
