/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include "cgroup/steps.h"
#include "common/log.h"
#include "common/state.h"
#include "common/tell.h"
#include "policy/cpus.h"
#include "spank/tell.h"

/* Slurm forks all tasks before it asks about the first, and if one cannot be forked, or
 * is refused here, none runs (src/slurmd/slurmstepd/mgr.c, _fork_all_tasks): the last
 * one comes if any does.
 *
 * A step of 256 tasks would otherwise take hpcbd's ration of root's messages for more
 * than half a second (PER_TICK_MAX in hpcbd/node/socket.c). */
static bool is_last(spank_t sp, const hpcb_step_t *step)
{
    static uint32_t seen;
    uint32_t tasks;

    seen++;
    if (!step->tasks ||
        spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &tasks) != ESPANK_SUCCESS)
        return seen == 1;
    return seen == tasks;
}

/* hpcbd cannot find the directory of a guest without a record by itself with each
 * Slurm. */
static bool concerns(const hpcb_step_t *step)
{
    return step->node && (step->recorded || step->klass == HPCB_CLASS_GUEST);
}

/* Slurm writes the list into 1024 bytes (format_core_allocs): a longer one is cut. */
#define CORES_MAX 1000

/* Unlike the CPUs to which tasks are bound, they cannot change this. */
static void save_cores(spank_t sp, const hpcb_step_t *step)
{
    char *cores = NULL;
    hpcb_cpus_t list;
    hpcb_error_t err;

    if (spank_get_item(sp, S_JOB_ALLOC_CORES, &cores) != ESPANK_SUCCESS || !cores ||
        !*cores || strlen(cores) > CORES_MAX || hpcb_cpus_parse(cores, &list) < 0)
        return;
    if (hpcb_state_save_cores(step->conf.state_dir, step->job_id, cores, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "job %u: %s", step->job_id, err.text);
}

void hpcb_spank_tell_task(spank_t sp, const hpcb_step_t *step, pid_t pid)
{
    char dir[PATH_MAX];
    hpcb_error_t err;

    if (!concerns(step) || !is_last(sp, step))
        return;
    save_cores(sp, step); /* first, because readers of the place expect them */
    if (hpcb_steps_job(step->node, pid, dir, sizeof(dir), &err) < 0 ||
        hpcb_state_save_place(step->conf.state_dir, step->job_id, dir, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "job %u: %s", step->job_id, err.text);
    if (hpcb_tell(step->conf.state_dir, "job", step->job_id, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "job %u: %s", step->job_id, err.text);
}
