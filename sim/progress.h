/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Progress of a run: models set it, main prints it.  One writer per run, any number of
 * readers.
 */
#ifndef HPCB_SIM_PROGRESS_H
#define HPCB_SIM_PROGRESS_H

#include <stdatomic.h>

typedef struct {
    unsigned step, steps; /* of the model: parts of the run, of about the same length */
    atomic_uint ppm;      /* of the whole run */
} hpcb_sim_progress_t;

/* Before the first step. */
void hpcb_sim_progress_begin(hpcb_sim_progress_t *progress, unsigned steps);

/* Complete a step. */
void hpcb_sim_progress_step(hpcb_sim_progress_t *progress);

/* Set the progress of the step to the larger of the two, 0 ... 1. */
void hpcb_sim_progress_part(hpcb_sim_progress_t *progress, double a, double b);

#endif
