/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "sim/progress.h"

static void say(hpcb_sim_progress_t *progress, double part)
{
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    if (progress->steps > 0)
        atomic_store_explicit(
            &progress->ppm,
            (unsigned)((progress->step + part) * 1000000 / progress->steps),
            memory_order_relaxed);
}

void hpcb_sim_progress_begin(hpcb_sim_progress_t *progress, unsigned steps)
{
    progress->step = 0;
    progress->steps = steps;
    say(progress, 0);
}

void hpcb_sim_progress_step(hpcb_sim_progress_t *progress)
{
    progress->step++;
    say(progress, 0);
}

void hpcb_sim_progress_part(hpcb_sim_progress_t *progress, double a, double b)
{
    say(progress, a > b ? a : b);
}
