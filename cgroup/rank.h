/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The hands of rank balancing (policy/balance.h decides): one rank's own cpu group, and
 * where the rank runs.
 *
 * v2: Slurm's directory of the task, step_<S>/user/task_<T>; on v1 the same where cpu
 * is mounted with cpuacct and Slurm accounts there.  Only tasks of one step compete
 * there, so a weight moves CPU time among the ranks and nowhere else.
 *
 * v1 otherwise: Slurm leaves primaries in the root group.  A group of ours at the top,
 * <cgroup>_<job>_<step>_<task>, weighs what a process in the root group does, and from
 * there weights only go down: nothing outside of the job is pushed back.
 *
 * What a crash leaves behind is found without memory of it: groups of ours by their
 * names, everything else by the undo log.  `hpcbctl release` may replay and remove that
 * at any time: what is changed after that is noted again.
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
    const hpcb_node_t *node; /* outlives the handle */
    uint32_t job_id;
    const char *step; /* "0" */
    uint32_t task;    /* its number on this node */
    pid_t pid;
    const char *cgroup; /* v1: how groups of ours begin */
    hpcb_undo_t *undo;  /* of the job; outlives the handle */
} hpcb_rank_spec_t;

typedef struct hpcb_rank hpcb_rank_t;

/* Find the rank's group, or make it.  0, or -1 with err that says why its share cannot
 * be changed. */
int hpcb_rank_open(const hpcb_rank_spec_t *spec, hpcb_rank_t **rank, hpcb_error_t *err);

/* Weight and places are what they were; a group of ours goes.  NULL is fine. */
void hpcb_rank_close(hpcb_rank_t *rank);

/* The same, but a group of ours is for hpcb_rank_scatter to remove. */
void hpcb_rank_leave(hpcb_rank_t *rank);

/* Whether opening it moves processes to a group of ours, for which the kernel may make
 * the caller wait for a grace period of RCU (v1: 10 to 20 ms), or for others who do. */
bool hpcb_rank_moves(const hpcb_rank_spec_t *spec);

/* Move them beforehand, where somebody may wait: opening it then does not.  What fails
 * is for hpcb_rank_open to find.  undo is not used: groups of ours are found by their
 * names. */
void hpcb_rank_gather(const hpcb_rank_spec_t *spec);

/* Undo that: it has not been opened, or has been left. */
void hpcb_rank_scatter(const hpcb_rank_spec_t *spec);

/* Take in what the rank has started before it had a group (v1), and pin what is new as
 * the rest.  0, or -1 with err: errno ENOENT when the group has gone, ESTALE when
 * somebody else has changed its weight. */
int hpcb_rank_look(hpcb_rank_t *rank, hpcb_error_t *err);

/* What the rank weighs as an equal, in the units of hpcb_rank_weigh. */
uint32_t hpcb_rank_top(const hpcb_rank_t *rank);

/* No other rank has this one. */
const char *hpcb_rank_group(const hpcb_rank_t *rank);

/* One write, or none where it weighs so already.  0, or -1 with errno (ENOENT, ENODEV:
 * the group has gone) and err. */
int hpcb_rank_weigh(hpcb_rank_t *rank, uint32_t weight, hpcb_error_t *err);

/*
 * Let it run for `share` of the time of a CPU at most (millionths, policy/share.h), in
 * each period of HPCB_RANK_PERIOD_US; HPCB_SHARE_ONE: as long as it likes.  For ranks
 * that share a core, but no CPU, and so no scheduler that would weigh them.  One write
 * (v1: two), or none where it is so already.  0, or -1 with err and errno as above, or
 * EBUSY: it has a quota that is not ours, or the first one could not be set.
 */
#define HPCB_RANK_PERIOD_US 10000
int hpcb_rank_limit(hpcb_rank_t *rank, uint32_t share, hpcb_error_t *err);

/*
 * Let the CPU that it is bound to, which is always the same, prefer what it did, or
 * something that is `below` levels lower (cgroup/frequency.h).  For ranks that share no
 * core.  One write, or none.  0, or -1 with errno and err.
 */
int hpcb_rank_hint(hpcb_rank_t *rank, unsigned cpu, unsigned below, hpcb_error_t *err);

/* Let all its threads run on cpu alone.  0, or -1 with err: errno ENOTUNIQ where the
 * program has given its threads places of their own. */
int hpcb_rank_pin(hpcb_rank_t *rank, unsigned cpu, hpcb_error_t *err);

typedef struct {
    uint64_t run_ns;   /* on a CPU */
    uint64_t delay_ns; /* ready, but waiting for one */
} hpcb_rank_times_t;

/* Of the main threads of its processes since they began.  0, or -1. */
int hpcb_rank_times(const hpcb_rank_t *rank, hpcb_rank_times_t *times);

/* Whether the main thread of one of its processes runs now, or is ready to. */
bool hpcb_rank_runs(const hpcb_rank_t *rank);

/*
 * After a crash, without any handle: undo what is noted below state_dir and remove
 * groups of ours.  Harmless where there is nothing.  The number of things undone, or -1
 * with err when one could not be.
 */
int hpcb_ranks_release(const hpcb_node_t *node, const char *state_dir,
                       const char *cgroup, hpcb_error_t *err);

#endif
