/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Users' processes of Slurm's jobs, from Slurm's own directories, without slurmstepds:
 * on v1 those of the freezer (slurmstepd is in none of its step directories), on v2
 * step_<S>/user.
 */
#ifndef HPCB_CGROUP_STEPS_H
#define HPCB_CGROUP_STEPS_H

#include <stdbool.h>
#include <sys/types.h>
#include "cgroup/node.h"
#include "policy/cpus.h"

/* Called for each process.  A result other than 0 ends the walk and is returned by
 * it. */
typedef int (*hpcb_process_visit_t)(pid_t pid, void *arg);

/* Get Slurm's directory of the job of task pid that contains the processes of its
 * steps. */
int hpcb_steps_job(const hpcb_node_t *node, pid_t pid, char *dir, size_t size,
                   hpcb_error_t *err);

/* Return true for a process of a job's extern step: the placeholder that sleeps there,
 * or a login that pam_slurm_adopt has put into the job. */
bool hpcb_steps_is_extern(const hpcb_node_t *node, pid_t pid);

/* Visit the processes of all steps of the job in dir, including the extern step.
 * Return 0, the result of visit, or -1 with errno if dir or a list of processes cannot
 * be read. */
int hpcb_steps_each(const hpcb_node_t *node, const char *dir,
                    hpcb_process_visit_t visit, void *arg);

/*
 * Visit the processes that compute for the job in dir: without the extern step, whose
 * placeholder sleeps; with the batch and the interactive step only if nothing else
 * runs, because their shells may use all CPUs of the job but wait for the steps that
 * they start.
 */
int hpcb_steps_busy(const hpcb_node_t *node, const char *dir,
                    hpcb_process_visit_t visit, void *arg);

/* Visit the slurmstepds of the job in dir: on v1 in the job's own directory of the
 * freezer, on v2 in step_<S>/slurm.  Processes that they have forked but not yet
 * started may be there, too. */
int hpcb_steps_daemons(const hpcb_node_t *node, const char *dir,
                       hpcb_process_visit_t visit, void *arg);

/* Get the CPUs that the job in dir may use by its cpuset.  Return 0, or -1 with errno
 * and cpus unchanged if it has none (ConstrainCores=no, or no step yet). */
int hpcb_steps_cpus(const hpcb_node_t *node, const char *dir, hpcb_cpus_t *cpus);

/* Get the CPUs to which the first 256 processes of the job in dir are bound that do not
 * wait for steps.  Return their number; 0: cpus is empty. */
unsigned hpcb_steps_bound(const hpcb_node_t *node, const char *dir, hpcb_cpus_t *cpus);

/* Call visit for the directory of every job of Slurm on this node.  dir is the
 * directory of one of them (hpcb_steps_job). */
int hpcb_steps_jobs(const hpcb_node_t *node, const char *dir,
                    int (*visit)(const char *job, void *arg), void *arg);

#endif
