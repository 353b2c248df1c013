/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * CPU time and run delay of a whole job, exactly and without reading single threads.
 * On a node with a cgroup2 mount next to v1 controllers every task of a job is put into
 * a group of ours without controllers (<mount>/hpcb/job_<id>/<step>.<task>); its
 * cpu.stat and cpu.pressure include threads that have ended.  On a pure v2 node Slurm's
 * own job directory is used, and nothing is created.
 */
#ifndef HPCB_SENSOR_METER_H
#define HPCB_SENSOR_METER_H

#include <stdint.h>
#include <sys/types.h>
#include "cgroup/node.h"
#include "common/state.h"
#include "common/tasks.h"

/* Put the waiting task pid into the job's meter.  Return 0, also on a pure v2 node; -1
 * with err if there is no cgroup2 mount or it cannot be written. */
int hpcb_meter_attach(const hpcb_node_t *node, uint32_t job_id, const char *step,
                      uint32_t task, pid_t pid, hpcb_error_t *err);

/* Get the group that contains all tasks of the job in the cgroup2 hierarchy: ours, or
 * on pure v2 place, Slurm's own directory of the job (ignored otherwise, and may be
 * NULL).  Return 0, or -1 with errno (ENOENT: the job has no task yet) and err. */
int hpcb_meter_group(const hpcb_node_t *node, uint32_t job_id, const char *place,
                     char *dir, size_t size, hpcb_error_t *err);

/*
 * Get the present usage of the job, and the peak memory of Slurm's own directory of the
 * job (found by pid; 0: none).  scope describes the CPU figures:
 *   HPCB_USAGE_STEP: sum over its present task groups, to be added to what is recorded;
 *     do not record it, because hpcb_meter_fold_step returns the same figures again;
 *   HPCB_USAGE_JOB: running total of the job (pure v2), which may be recorded at any
 *     time.
 * memory_peak is a total in both cases, 0 if it is unknown.  Return -1 with err if
 * there is no cgroup2 mount, or on pure v2 if pid is in no job.
 */
int hpcb_meter_read(const hpcb_node_t *node, uint32_t job_id, pid_t pid,
                    hpcb_usage_t *usage, hpcb_usage_scope_t *scope, hpcb_error_t *err);

/* Do the same (HPCB_USAGE_JOB) for the job with Slurm's directory dir, pure v2. */
int hpcb_meter_read_job(const char *dir, hpcb_usage_t *usage, hpcb_error_t *err);

/* Get the usage of each task of a step so far, unsorted, up to max of them: count is
 * their number.  Return 0, also on pure v2, where tasks are not distinguished; or -1
 * with err. */
int hpcb_meter_tasks(const hpcb_node_t *node, uint32_t job_id, const char *step,
                     hpcb_task_usage_t *tasks, size_t max, size_t *count,
                     hpcb_error_t *err);

/* At the end of a step: add the usage of its task groups to usage and remove them.
 * Groups that still have processes are left for hpcb_meter_remove.  Return 0, also if
 * nothing was metered (pure v2). */
int hpcb_meter_fold_step(const hpcb_node_t *node, uint32_t job_id, const char *step,
                         hpcb_usage_t *usage, hpcb_error_t *err);

/* At the end of the job: add the rest to usage, remove all its groups (remaining
 * processes move to the mount's root), and the common parent if it is empty.  Return 0,
 * or -1 with errno EBUSY and err if a group cannot be removed; usage is complete
 * anyway. */
int hpcb_meter_remove(const hpcb_node_t *node, uint32_t job_id, hpcb_usage_t *usage,
                      hpcb_error_t *err);

#endif
