/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Where the tasks of a job are stopped: at levels of cgroup2 that Slurm never freezes,
 * so that to set them going undoes no stop of Slurm's (scontrol suspend, gang
 * scheduling).  A task below two frozen levels runs when both are thawed.
 *
 *  v2                       step_<S>/user/task_<N>.  Slurm 22.05 to 26.05 suspends one
 *                           level above, in step_<S>/user; slurmstepd is in neither,
 *                           because it must go on answering slurmd.  Logins that
 *                           pam_slurm_adopt has put into the job are in
 *                           step_extern/user/task_special.
 *  v1 beside a cgroup2      hpcb/job_<id>, the meter's group, in which logins are not.
 *  mount                    Slurm suspends with the freezer of v1.
 *  v1 alone                 none: freezer.state does not tell who froze.
 *
 * SIGKILL reaches a task that is frozen in this way.
 *
 * The log names the levels that may be frozen (StateDir/frozen).  It is replaced as a
 * whole, before a level that is new in it is frozen, and so is never larger than what
 * is there.
 */
#ifndef HPCB_CGROUP_FREEZE_H
#define HPCB_CGROUP_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "common/error.h"

/* Write "1" to stop the tasks below a level, "0" to set them going. */
#define HPCB_FREEZE_KNOB "cgroup.freeze"

/* Levels on one node, for all jobs together: a log holds no more. */
#define HPCB_FREEZE_LEVELS_MAX 2048

/* What is not 0 ends the walk and is what it returns. */
typedef int (*hpcb_freeze_visit_t)(const char *level, void *arg);

/* Return true if this node has levels to stop jobs at. */
bool hpcb_freeze_possible(const hpcb_node_t *node);

/* Call visit for each level of the job that exists now, with logins those of the extern
 * step, too.  job_dir is Slurm's directory of the job (cgroup/steps.h), "" if it is not
 * known yet; only v2 needs it.  0, or what visit returned. */
int hpcb_freeze_levels(const hpcb_node_t *node, uint32_t job_id, const char *job_dir,
                       bool logins, hpcb_freeze_visit_t visit, void *arg);

/* Return true if Slurm has suspended a step of the job in job_dir ("": false), by the
 * first 64 that there are. */
bool hpcb_freeze_by_slurm(const hpcb_node_t *node, const char *job_dir);

/* Replace the log below state_dir (StateDir) by one that names count levels; remove it
 * if count is 0.  0, or -1 with errno and err: the old one is still there. */
int hpcb_freeze_log_replace(const char *state_dir, const char *const *levels,
                            size_t count, hpcb_error_t *err);

/* Set the job going.  The number of levels that were stopped, or -1 with err. */
int hpcb_freeze_thaw_job(const hpcb_node_t *node, uint32_t job_id, const char *job_dir,
                         hpcb_error_t *err);

/*
 * After a crash: set going what the log names.  If it cannot be believed (cut short,
 * too large, another's), set all jobs of state_dir going and remove it.  Harmless if
 * there is nothing, and beside a daemon that lives: the log stays, because that one
 * freezes again what it names.  The number of levels that were stopped, or -1 with err
 * if one could not be set going.
 */
int hpcb_freeze_release(const hpcb_node_t *node, const char *state_dir,
                        hpcb_error_t *err);

#endif
