/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests on the other hardware threads of primaries' cores: looks at the node, lets
 * policy/siblings decide, and carries it out with the rows core-cookie, sibling-avoid
 * and sibling-throttle.  Where primaries are changes, so what has been decided is
 * looked at again when jobs come and go (hpcb_siblings_lower once more).
 */
#ifndef HPCB_CGROUP_SIBLINGS_H
#define HPCB_CGROUP_SIBLINGS_H

#include "cgroup/mechanism.h"
#include "policy/siblings.h"

/* What the configuration allows. */
typedef struct {
    bool cookie;
    bool avoid;
    bool throttle;
    unsigned difference; /* of priorities, policy/share.h */
    /* What the caller knows already, for several tasks of one job; NULL: to be found.
     */
    const hpcb_cores_t *cores;
    const hpcb_cpus_t *held; /* of hpcb_held_cpus */
} hpcb_siblings_want_t;

/* A task of a guest, between two looks at it; all zero: nothing done yet. */
typedef struct {
    bool based;                /* base is known: */
    bool group;                /* it is the step's cpuset, the same for all its tasks */
    hpcb_cpus_t base;          /* where the task might run if it were not kept off */
    hpcb_siblings_plan_t plan; /* in force */
    /* What was before, if the undo log could not be written; NULL: the log has it. */
    hpcb_undo_t *unlogged;
} hpcb_siblings_task_t;

/*
 * Decide for target->pid and carry it out; task->plan says what is in force then, and
 * what was before it is taken back.  A mechanism that fails is undone, and the next one
 * tried; if none is left, what was in force before stays.
 * All of it changes the guest only, so it is done also without an undo log
 * (target->undo is NULL or cannot be written): task->unlogged has the notes then, and
 * they go to the log with the first call that finds it working.  0 where something is
 * in force or nothing is needed now (a node whose sysfs does not tell its cores counts
 * as one without SMT); -1 with err, which says why each one failed, where the guest
 * stays exposed.  As root; waits for nothing.
 */
int hpcb_siblings_lower(const hpcb_target_t *target, const hpcb_siblings_want_t *want,
                        hpcb_siblings_task_t *task, hpcb_error_t *err);

/* Release what task holds; what is in force stays. */
void hpcb_siblings_forget(hpcb_siblings_task_t *task);

/* Throttle target whatever else is in force: for a guest that takes its cookie off. */
int hpcb_siblings_punish(const hpcb_target_t *target, const hpcb_siblings_want_t *want,
                         hpcb_error_t *err);

/*
 * What is in force for target->pid, read from the kernel: the name of a row, "none
 * needed" (no primary on another thread of a core that it may use, kept off or not), ""
 * on a node without SMT, or NULL with err where it is exposed.  Without privilege too,
 * but what cannot be looked at counts as held by primaries.
 */
const char *hpcb_siblings_state(const hpcb_target_t *target, hpcb_error_t *err);

/*
 * Give the job's cookie to those processes of the target's job that have none, a new
 * one if nobody has it any more.  A round looks at 4096 processes, from number *from
 * on, which is 0 at first and says afterwards where the next round begins.  Return how
 * many had none; *who (may be NULL) is one of them.
 */
unsigned hpcb_siblings_mend(const hpcb_target_t *target, unsigned *from, pid_t *who);

/* Take the cookie of process pid off, if it has one.  0, or -1 with err. */
int hpcb_siblings_free(pid_t pid, hpcb_error_t *err);

#endif
