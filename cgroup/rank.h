/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Actuators of rank balancing (policy/balance.h decides): the cpu group and the CPUs of
 * one rank.
 *
 * v2: Slurm's directory of the task, step_<S>/user/task_<T>; the same on v1 if cpu is
 * mounted with cpuacct and Slurm accounts there.  Only tasks of one step compete there,
 * so a weight moves CPU time among the ranks and nowhere else.
 *
 * v1 otherwise: Slurm leaves primaries in the root group.  A group of ours at the top,
 * <cgroup>_<job>_<step>_<task>, has the weight of a process in the root group, and
 * weights are only lowered from there, so that nothing outside of the job is pushed
 * back.
 *
 * After a crash everything is found without stored state: our groups by their names,
 * the rest by the undo log.  `hpcbctl release` may replay and remove that log at any
 * time; later changes are logged again.
 */
#ifndef HPCB_CGROUP_RANK_H
#define HPCB_CGROUP_RANK_H

#include <stdbool.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "cgroup/undo.h"
#include "common/error.h"
#include "policy/cpus.h"

typedef struct {
    const hpcb_node_t *node; /* must outlive the handle */
    uint32_t job_id;
    const char *step; /* "0" */
    uint32_t task;    /* task number on this node */
    pid_t pid;
    const char *cgroup; /* v1: prefix of our groups */
    hpcb_undo_t *undo;  /* of the job; must outlive the handle */
} hpcb_rank_spec_t;

typedef struct hpcb_rank hpcb_rank_t;

/* Find the rank's group, or create it.  Return 0, or -1 with err if its share cannot be
 * changed. */
int hpcb_rank_open(const hpcb_rank_spec_t *spec, hpcb_rank_t **rank, hpcb_error_t *err);

/* Restore weight and CPUs and remove a group of ours.  rank may be NULL. */
void hpcb_rank_close(hpcb_rank_t *rank);

/* As hpcb_rank_close, but leave the removal of a group of ours to hpcb_rank_scatter. */
void hpcb_rank_leave(hpcb_rank_t *rank);

/* Return whether hpcb_rank_open moves processes to a group of ours.  The kernel may
 * then block the caller for a grace period of RCU (v1: 10 to 20 ms), or until others
 * who move processes have waited for theirs. */
bool hpcb_rank_moves(const hpcb_rank_spec_t *spec);

/* Move them before hpcb_rank_open, in a caller that may block.  Failures are left to
 * hpcb_rank_open.  Does not use undo, because our groups are found by their names. */
void hpcb_rank_gather(const hpcb_rank_spec_t *spec);

/* Undo hpcb_rank_gather for a rank that was not opened or was left. */
void hpcb_rank_scatter(const hpcb_rank_spec_t *spec);

/* Add processes that the rank started before it had a group (v1), and pin new threads
 * like the others.  Return 0, or -1 with err; errno is ENOENT if the group no longer
 * exists, ESTALE if its weight was changed by others. */
int hpcb_rank_look(hpcb_rank_t *rank, hpcb_error_t *err);

/* Return the weight of the rank without balancing, in the units of hpcb_rank_weigh. */
uint32_t hpcb_rank_top(const hpcb_rank_t *rank);

/* Return the path of the rank's group, which is unique. */
const char *hpcb_rank_group(const hpcb_rank_t *rank);

/* Set the weight, with one write or none if it is unchanged.  Return 0, or -1 with
 * errno (ENOENT, ENODEV: the group no longer exists) and err. */
int hpcb_rank_weigh(hpcb_rank_t *rank, uint32_t weight, hpcb_error_t *err);

/*
 * Limit the rank to `share` of the time of a CPU (millionths, policy/share.h) in each
 * period of HPCB_RANK_PERIOD_US; HPCB_SHARE_ONE: no limit.  For ranks that share a core
 * but no CPU, and so no scheduler that could weigh them.  Makes one write (v1: two), or
 * none if it is unchanged.  Return 0, or -1 with err and errno as above, or EBUSY:
 * there is a quota that is not ours, or the first one could not be set.
 */
#define HPCB_RANK_PERIOD_US 10000
int hpcb_rank_limit(hpcb_rank_t *rank, uint32_t share, hpcb_error_t *err);

/*
 * Set the preference of the CPU to which the rank is bound, always the same one, to the
 * original or to one that is `below` levels lower (cgroup/frequency.h).  For ranks that
 * share no core.  Makes one write or none.  Return 0, or -1 with errno and err.
 */
int hpcb_rank_hint(hpcb_rank_t *rank, unsigned cpu, unsigned below, hpcb_error_t *err);

/* Bind all its threads to cpu.  Return 0, or -1 with err; errno is ENOTUNIQ if the
 * program has bound its threads itself. */
int hpcb_rank_pin(hpcb_rank_t *rank, unsigned cpu, hpcb_error_t *err);

typedef struct {
    uint64_t run_ns;   /* on a CPU */
    uint64_t delay_ns; /* ready, but waiting for one */
} hpcb_rank_times_t;

/* Get the times of the main threads of its processes since they began.  Return 0 or
 * -1. */
int hpcb_rank_times(const hpcb_rank_t *rank, hpcb_rank_times_t *times);

/* Return whether the main thread of one of its processes runs or is ready to run. */
bool hpcb_rank_runs(const hpcb_rank_t *rank);

/*
 * After a crash, without a handle: undo what is logged below state_dir and remove our
 * groups.  Harmless if there is nothing.  Return the number of changes undone, or -1
 * with err if one could not be undone.
 */
int hpcb_ranks_release(const hpcb_node_t *node, const char *state_dir,
                       const char *cgroup, hpcb_error_t *err);

#endif
