/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Usage of single tasks of a job on this node: StateDir/jobs/<jobid>.tasks, one line
 * per task, appended when their step ends.  For reports; libc only.
 */
#ifndef HPCB_COMMON_TASKS_H
#define HPCB_COMMON_TASKS_H

#include <stddef.h>
#include <stdint.h>
#include "common/error.h"

/* Maximum number of tasks of a job on a node; the first ones to end are kept. */
#define HPCB_TASKS_MAX 256

typedef struct {
    char step[16]; /* "0", "batch", "interactive" */
    uint32_t task; /* its rank in the step */
    uint64_t cpu_us, run_delay_us;
} hpcb_task_usage_t;

/* Append up to HPCB_TASKS_MAX tasks, unless the job has so many already.  Return 0, or
 * -1 with err. */
int hpcb_tasks_add(const char *state_dir, uint32_t job_id,
                   const hpcb_task_usage_t *tasks, size_t count, hpcb_error_t *err);

/* Read the tasks; none if the file does not exist or is not trusted.  A truncated line
 * is skipped. */
size_t hpcb_tasks_load(const char *state_dir, uint32_t job_id,
                       hpcb_task_usage_t tasks[static HPCB_TASKS_MAX]);

#endif
