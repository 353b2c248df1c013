/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "common/about.h"
#include "common/log.h"
#include "common/tasks.h"
#include "sensor/meter.h"
#include "spank/gain.h"
#include "spank/stepd.h"
#include "spank/usage.h"

static hpcb_usage_t job_total; /* as the last task's end found it */
static hpcb_usage_scope_t scope = HPCB_USAGE_STEP;

void hpcb_spank_usage_attach(const hpcb_step_t *step, uint32_t task, pid_t pid)
{
    hpcb_error_t err;

    if (!step->node)
        return;
    if (hpcb_meter_attach(step->node, step->job_id, step->name, task, pid, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
}

/* The task itself has been reaped; slurmstepd is in the job's directories too (v1: in
 * the step's memory group, v2: in its own group below the step), or has left them. */
static int read_job(const hpcb_step_t *step, hpcb_error_t *err)
{
    const char *left = hpcb_spank_stepd_job();

    if (!left[0])
        return hpcb_meter_read(step->node, step->job_id, getpid(), &job_total, &scope,
                               err);
    if (hpcb_meter_read_job(left, &job_total, err) < 0)
        return -1;
    scope = HPCB_USAGE_JOB;
    return 0;
}

void hpcb_spank_usage_task_exit(spank_t sp, const hpcb_step_t *step)
{
    static uint32_t ended;
    uint32_t tasks;
    hpcb_error_t err;

    if (!step->node ||
        spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &tasks) != ESPANK_SUCCESS)
        return;
    if (++ended < tasks)
        return;
    if (read_job(step, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
    else
        hpcb_spank_gain_print(sp, step, &job_total, scope);
}

/* Not after the epilog, which would leave a file that is never removed.  slurmd may
 * skip the prolog of a requeued run, also if the previous run was revoked before it had
 * begun (22.05, slurm_cred_revoke notes jobs that it has never seen): usage without a
 * record goes to the epilog anyway. */
static bool epilog_will_come(const hpcb_step_t *step)
{
    hpcb_job_state_t job;

    return !step->recorded ||
           hpcb_state_load(step->conf.state_dir, step->job_id, &job, NULL) == 0;
}

void hpcb_spank_usage_array(spank_t sp, const hpcb_step_t *step)
{
    uint32_t array = 0, task = 0;
    hpcb_error_t err;

    if (!step->recorded || strcmp(step->name, "batch") != 0 ||
        spank_get_item(sp, S_JOB_ARRAY_ID, &array) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_ARRAY_TASK_ID, &task) != ESPANK_SUCCESS ||
        array == 0 || array == NO_VAL || task == NO_VAL)
        return;
    if (hpcb_about_add_array(step->conf.state_dir, step->job_id, array, task, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
}

/* Before their groups go.  The extern step has no tasks of the user's. */
static void record_tasks(const hpcb_step_t *step)
{
    hpcb_task_usage_t tasks[HPCB_TASKS_MAX];
    size_t count;
    hpcb_error_t err;

    if (!step->tasks || !epilog_will_come(step))
        return;
    if (hpcb_meter_tasks(step->node, step->job_id, step->name, tasks, HPCB_TASKS_MAX,
                         &count, &err) < 0 ||
        hpcb_tasks_add(step->conf.state_dir, step->job_id, tasks, count, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
}

void hpcb_spank_usage_exit(const hpcb_step_t *step)
{
    hpcb_usage_t usage = {0};
    hpcb_error_t err;

    if (!step->node)
        return;
    record_tasks(step);
    if (hpcb_meter_fold_step(step->node, step->job_id, step->name, &usage, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
    if (scope == HPCB_USAGE_JOB)
        usage = job_total;
    usage.memory_peak = job_total.memory_peak;
    if (!usage.cpu_us && !usage.run_delay_us && !usage.memory_peak)
        return;
    if (!epilog_will_come(step))
        return;
    if (hpcb_state_add_usage(step->conf.state_dir, step->job_id, scope, &usage, &err) <
        0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
}
