/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <limits.h>
#include <unistd.h>
#include "common/tell.h"
#include "spank/useropts.h"
#include "spank/window.h"

void hpcb_spank_window_user(const hpcb_step_t *step)
{
    char path[PATH_MAX];

    if (!step->recorded || !step->tasks || hpcb_spank_options()->window.period_us == 0)
        return;
    if (step->job.window.period_us == 0)
        slurm_spank_log(
            "hpc_balance: --hpc-window has no effect: job %u has no windows",
            step->job_id);
    else if (hpcb_tell_path(step->conf.state_dir, path, sizeof(path)) ||
             access(path, F_OK) < 0)
        slurm_spank_log("hpc_balance: --hpc-window has no effect on this node: hpcbd "
                        "does not run");
}
