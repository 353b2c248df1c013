/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Jobs with state or groups of ours on this node, and the processes of their tasks. */
#ifndef HPCB_HPCBCTL_TASKS_H
#define HPCB_HPCBCTL_TASKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "cgroup/node.h"
#include "common/conf.h"

/*
 * Return a running process of the job: in its guest group, otherwise under its meter,
 * otherwise (pure v2, where we create no groups) in Slurm's directory of the job.
 * Return 0 if there is none, as between two steps.
 */
pid_t hpcb_tasks_any(const hpcb_node_t *node, const hpcb_conf_t *conf, uint32_t job_id);

typedef struct {
    uint32_t job_id;
    pid_t pid;
} hpcb_task_t;

/*
 * Get every process of every job on this node, by job ID, without slurmstepds and
 * processes that these have forked but not yet started: those in a group of ours and
 * those in Slurm's directory of a job, so that processes that left the guest group are
 * found.  The caller frees them.  Return 0, or -1 with err if memory is short or /proc
 * cannot be read.
 *
 * From Slurm 26.05 on the directory is named by a SLUID, which the prolog has recorded:
 * processes of a job without a record are only found in groups of ours.
 */
int hpcb_tasks_scan(const hpcb_node_t *node, const hpcb_conf_t *conf,
                    hpcb_task_t **tasks, size_t *count, hpcb_error_t *err);

/* Return the number of processes in the job's guest group (cgroup v1). */
size_t hpcb_tasks_guest(const hpcb_node_t *node, const char *guest_cgroup,
                        uint32_t job_id);

/*
 * Get the IDs, sorted, of all jobs that have a file in conf->state_dir or a group of
 * ours, with or without a valid record; the caller frees them.  At most 65536;
 * directories that cannot be read count as empty.  Return 0, or -1 with err if memory
 * is short.
 */
int hpcb_tasks_jobs(const hpcb_node_t *node, const hpcb_conf_t *conf, uint32_t **ids,
                    size_t *count, hpcb_error_t *err);

#endif
