/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Which jobs have something of ours on this node, and where their tasks are. */
#ifndef HPCB_HPCBCTL_TASKS_H
#define HPCB_HPCBCTL_TASKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "cgroup/node.h"
#include "common/conf.h"

/*
 * A running process of the job: one in its guest group, else one under its meter, else
 * (pure v2, where we make no groups) one in Slurm's directory of the job.  0 where
 * there is none now: a job between two steps is no less a job.
 */
pid_t hpcb_tasks_any(const hpcb_node_t *node, const hpcb_conf_t *conf, uint32_t job_id);

typedef struct {
    uint32_t job_id;
    pid_t pid;
} hpcb_task_t;

/*
 * Every process of every job on this node, by job id, without slurmstepds and what they
 * have forked but not yet started: those in a group of ours and those in Slurm's
 * directory of a job, wherever else they are.  That is how a guest is found whose
 * processes left the guest group.  The caller frees them.  -1 with err when memory runs
 * out or /proc cannot be read.
 *
 * From Slurm 26.05 on the directory is called by a SLUID, which the prolog has
 * recorded: of a job without a record, a process that is in no group of ours is then
 * not found.
 */
int hpcb_tasks_scan(const hpcb_node_t *node, const hpcb_conf_t *conf,
                    hpcb_task_t **tasks, size_t *count, hpcb_error_t *err);

/* The number of processes in the job's guest group (cgroup v1). */
size_t hpcb_tasks_guest(const hpcb_node_t *node, const char *guest_cgroup,
                        uint32_t job_id);

/*
 * The ids, sorted, of all jobs that have a file in conf->state_dir or a group of ours,
 * whether their records can be believed or not; the caller frees them.  At most 65536;
 * what cannot be read counts as empty.  -1 with err when memory runs out.
 */
int hpcb_tasks_jobs(const hpcb_node_t *node, const hpcb_conf_t *conf, uint32_t **ids,
                    size_t *count, hpcb_error_t *err);

#endif
