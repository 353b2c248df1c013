/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * CPU time and run delay of a whole job, exactly and without looking at single threads:
 * on a node with a cgroup2 mount beside v1 controllers, every task of a job is put into
 * a bare group of ours there (<mount>/hpcb/job_<id>/<step>.<task>); cpu.stat and
 * cpu.pressure count for it, threads that have ended included.  On a pure v2 node
 * Slurm's own job directory counts, and nothing is made.
 */
#ifndef HPCB_SENSOR_METER_H
#define HPCB_SENSOR_METER_H

#include <stdint.h>
#include <sys/types.h>
#include "cgroup/node.h"
#include "common/state.h"
#include "common/tasks.h"

/* Put the waiting task pid under the job's meter.  0; 0 also on a pure v2 node; -1 with
 * err where there is no cgroup2 mount or it cannot be written. */
int hpcb_meter_attach(const hpcb_node_t *node, uint32_t job_id, const char *step,
                      uint32_t task, pid_t pid, hpcb_error_t *err);

/* The group that holds all tasks of the job in the cgroup2 hierarchy: ours, or on pure
 * v2 place, Slurm's own directory of the job (not looked at elsewhere, and may be
 * NULL). 0, or -1 with errno (ENOENT: the job has no task yet) and err. */
int hpcb_meter_group(const hpcb_node_t *node, uint32_t job_id, const char *place,
                     char *dir, size_t size, hpcb_error_t *err);

/*
 * What the job uses now, and the highest memory use that Slurm's own directory of the
 * job (found through pid, 0 = none) has seen.  scope tells what the CPU figures are:
 *   HPCB_USAGE_STEP: the sum over its task groups that exist, to be added to what is
 *     recorded; do not record it, hpcb_meter_fold_step brings the same figures again;
 *   HPCB_USAGE_JOB: the running total of the job (pure v2), record it at any moment.
 * memory_peak is a total in both cases, 0 where it cannot be known.  -1 with err where
 * there is no cgroup2 mount, and on pure v2 where pid is in no job.
 */
int hpcb_meter_read(const hpcb_node_t *node, uint32_t job_id, pid_t pid,
                    hpcb_usage_t *usage, hpcb_usage_scope_t *scope, hpcb_error_t *err);

/* The same (HPCB_USAGE_JOB) of the job whose directory of Slurm's is dir, pure v2. */
int hpcb_meter_read_job(const char *dir, hpcb_usage_t *usage, hpcb_error_t *err);

/* What each task of a step has used so far, in no order, up to max of them: count is
 * their number.  0, also on pure v2, where tasks are not told apart; or -1 with err. */
int hpcb_meter_tasks(const hpcb_node_t *node, uint32_t job_id, const char *step,
                     hpcb_task_usage_t *tasks, size_t max, size_t *count,
                     hpcb_error_t *err);

/* At the end of a step: add what its task groups have used to usage and remove them.
 * Groups that still hold processes are neither: they are left for hpcb_meter_remove.
 * 0 also where nothing was metered (pure v2). */
int hpcb_meter_fold_step(const hpcb_node_t *node, uint32_t job_id, const char *step,
                         hpcb_usage_t *usage, hpcb_error_t *err);

/* At the end of the job: add what is left to usage, remove all its groups (survivors
 * are moved to the mount's root), and the common parent when it is empty.  -1 with
 * errno EBUSY and err when a group would not go; usage has been added all the same. */
int hpcb_meter_remove(const hpcb_node_t *node, uint32_t job_id, hpcb_usage_t *usage,
                      hpcb_error_t *err);

#endif
