/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Cost of guests for each primary of this node, by experiment (policy/harm.h): guests
 * stop for a fifth of a second in ten seconds, on all nodes of the cluster at the same
 * time, and each primary's progress during that time is compared with that before and
 * after.
 */
#ifndef HPCB_HPCBD_HARM_EXPERIMENT_H
#define HPCB_HPCBD_HARM_EXPERIMENT_H

#include "common/measured.h"
#include "hpcbd/hpcbd.h"
#include "policy/progress.h"

extern const hpcbd_part_t hpcbd_experiment;

/* Get the result for a primary from its last comparisons (of an hour and a half at
 * most).  Return false if there is none yet. */
bool hpcbd_experiment_judge(uint32_t job_id, hpcb_progress_verdict_t *verdict);

/* Get the cost of guests in all of its time on this node (hpcbd/harm/life.h). */
bool hpcbd_experiment_cost(uint32_t job_id, uint64_t begin_us,
                           const hpcb_guest_cost_t *before, hpcb_guest_cost_t *cost);

#endif
