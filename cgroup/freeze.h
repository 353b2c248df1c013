/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Levels of cgroup2 at which the tasks of a job are stopped.  Slurm never freezes these
 * levels, so that thawing them undoes no suspension by Slurm (scontrol suspend, gang
 * scheduling).  A task below two frozen levels runs when both are thawed.
 *
 *  v2                       step_<S>/user/task_<N>.  Slurm 22.05 to 26.05 suspends one
 *                           level above, in step_<S>/user; slurmstepd is in neither,
 *                           because it must continue to answer slurmd.  Logins that
 *                           pam_slurm_adopt has put into the job are in
 *                           step_extern/user/task_special.
 *  v1 with a cgroup2 mount  hpcb/job_<id>, the meter's group, which has no logins.
 *                           Slurm suspends with the freezer of v1.
 *  v1 alone                 none: freezer.state does not show who froze.
 *
 * SIGKILL ends a task that is frozen in this way.
 *
 * The log (StateDir/frozen) names the levels that may be frozen.  It is replaced as a
 * whole before a level that is new in it is frozen, so its size is bounded by the
 * number of levels.
 */
#ifndef HPCB_CGROUP_FREEZE_H
#define HPCB_CGROUP_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "common/error.h"

/* Write "1" to stop the tasks below a level, "0" to continue them. */
#define HPCB_FREEZE_KNOB "cgroup.freeze"

/* Maximum number of levels on one node, for all jobs together, and of entries of a
 * log. */
#define HPCB_FREEZE_LEVELS_MAX 2048

/* A result other than 0 ends the walk and is returned by it. */
typedef int (*hpcb_freeze_visit_t)(const char *level, void *arg);

/* Return true if this node has levels at which jobs can be stopped. */
bool hpcb_freeze_possible(const hpcb_node_t *node);

/* Call visit for each present level of the job; with logins also for those of the
 * extern step.  job_dir is Slurm's directory of the job (cgroup/steps.h), "" if it is
 * not known yet; only v2 needs it.  Return 0, or the result of visit. */
int hpcb_freeze_levels(const hpcb_node_t *node, uint32_t job_id, const char *job_dir,
                       bool logins, hpcb_freeze_visit_t visit, void *arg);

/* Return true if Slurm has suspended a step of the job in job_dir ("": false).  Only
 * the first 64 steps are checked. */
bool hpcb_freeze_by_slurm(const hpcb_node_t *node, const char *job_dir);

/* Replace the log below state_dir (StateDir) with one that names count levels; remove
 * it if count is 0.  Return 0, or -1 with errno and err; the old one is still there
 * then. */
int hpcb_freeze_log_replace(const char *state_dir, const char *const *levels,
                            size_t count, hpcb_error_t *err);

/* Thaw the job.  Return the number of levels that were stopped, or -1 with err. */
int hpcb_freeze_thaw_job(const hpcb_node_t *node, uint32_t job_id, const char *job_dir,
                         hpcb_error_t *err);

/*
 * After a crash: thaw the levels in the log.  If the log is invalid (truncated, too
 * large, of another owner), thaw all jobs of state_dir and remove it.  Harmless if
 * there is nothing, and while hpcbd runs: the log stays, because hpcbd freezes again
 * what it names.  Return the number of levels that were stopped, or -1 with err if one
 * could not be thawed.
 */
int hpcb_freeze_release(const hpcb_node_t *node, const char *state_dir,
                        hpcb_error_t *err);

#endif
