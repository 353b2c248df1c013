/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The users' processes of Slurm's jobs, by Slurm's own directories, without
 * slurmstepds: on v1 those of the freezer (slurmstepd is in none of its step
 * directories), on v2 step_<S>/user.
 */
#ifndef HPCB_CGROUP_STEPS_H
#define HPCB_CGROUP_STEPS_H

#include <stdbool.h>
#include <sys/types.h>
#include "cgroup/node.h"
#include "policy/cpus.h"

/* Called for each process; what is not 0 ends the walk and is what it returns. */
typedef int (*hpcb_process_visit_t)(pid_t pid, void *arg);

/* Slurm's directory of the job of task pid where its steps' processes can be found. */
int hpcb_steps_job(const hpcb_node_t *node, pid_t pid, char *dir, size_t size,
                   hpcb_error_t *err);

/* True for a process of a job's extern step: the placeholder that sleeps there, or a
 * login that pam_slurm_adopt has put into the job. */
bool hpcb_steps_is_extern(const hpcb_node_t *node, pid_t pid);

/* The processes of all steps of the job in dir, the extern step included.  0, what
 * visit returned, or -1 with errno if dir or a list of processes cannot be read. */
int hpcb_steps_each(const hpcb_node_t *node, const char *dir,
                    hpcb_process_visit_t visit, void *arg);

/*
 * The processes that compute for the job in dir: without the extern step, whose
 * placeholder sleeps, and with the batch and the interactive step (shells, which may
 * use every CPU of the job but wait while the steps that they start run) only where
 * nothing else runs.
 */
int hpcb_steps_busy(const hpcb_node_t *node, const char *dir,
                    hpcb_process_visit_t visit, void *arg);

/* The slurmstepds of the job in dir: on v1 they are in the job's own directory of the
 * freezer, on v2 in step_<S>/slurm.  What they have forked and not yet started may be
 * there too. */
int hpcb_steps_daemons(const hpcb_node_t *node, const char *dir,
                       hpcb_process_visit_t visit, void *arg);

/* The CPUs that Slurm lets the job in dir use, by its cpuset.  0, or -1 with errno and
 * cpus untouched: it has none (ConstrainCores=no, or no step yet). */
int hpcb_steps_cpus(const hpcb_node_t *node, const char *dir, hpcb_cpus_t *cpus);

/* The CPUs to which the processes of the job in dir are bound, by those of the first
 * 256 that do not wait for steps.  Return how many were asked; 0: cpus is empty. */
unsigned hpcb_steps_bound(const hpcb_node_t *node, const char *dir, hpcb_cpus_t *cpus);

/* Call visit for the directory of every job of Slurm's on this node, whose own is dir
 * (hpcb_steps_job). */
int hpcb_steps_jobs(const hpcb_node_t *node, const char *dir,
                    int (*visit)(const char *job, void *arg), void *arg);

#endif
