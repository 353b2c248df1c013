/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Slurm's directories of jobs as they are on cgroup v2, on the running kernel and
 * without Slurm.  For root on a machine whose only hierarchy is cgroup2
 * (tests/platforms/vm); elsewhere tests return early.
 */
#ifndef HPCB_TESTS_REAL_SLURM_H
#define HPCB_TESTS_REAL_SLURM_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* Unchecked fixture: make slurmd's scope / kill what is left in it and remove it. */
void real_slurm_setup(void);
void real_slurm_teardown(void);

/* False where this machine cannot do that; real_slurm_why says why not. */
bool real_slurm_ready(void);
const char *real_slurm_why(void);

/* True where groups have controller's knobs. */
bool real_slurm_has(const char *controller);

/* Make the directory of a job with step_0/slurm and step_0/user/task_0, all with the
 * controllers of the scope; it goes with the fixture. */
void real_slurm_job(const char *name, char dir[PATH_MAX]);

/* The scope itself, the parent of all jobs. */
const char *real_slurm_scope(void);

/* Move pid into group ("step_0/user/task_0", "step_0/slurm") of the job. */
void real_slurm_enter(const char *job, const char *group, pid_t pid);

#endif
