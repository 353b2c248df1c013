/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <limits.h>
#include <unistd.h>
#include "cgroup/steps.h"
#include "common/log.h"
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

void hpcb_spank_window_task(const hpcb_step_t *step, pid_t pid)
{
    char dir[PATH_MAX];
    hpcb_error_t err;

    if (!step->recorded || !step->tasks || !step->node)
        return;
    if (hpcb_steps_job(step->node, pid, dir, sizeof(dir), &err) < 0 ||
        hpcb_state_save_place(step->conf.state_dir, step->job_id, dir, &err) < 0 ||
        hpcb_tell(step->conf.state_dir, "job", step->job_id, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "job %u: hpcbd does not know where it is: %s",
                 step->job_id, err.text);
}
