/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Coordinated windows and the memory of jobs are hpcbd's work; a step only leaves word
 * where its job is.
 */
#ifndef HPCB_SPANK_WINDOW_H
#define HPCB_SPANK_WINDOW_H

#include "spank/setup.h"

/* slurm_spank_user_init: a line for the user whose wish nobody fulfils here. */
void hpcb_spank_window_user(const hpcb_step_t *step);

#endif
