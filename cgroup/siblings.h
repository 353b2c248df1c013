/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests on the other hardware threads of primaries' cores: reads the node's state,
 * calls policy/siblings, and applies its plan with the rows core-cookie, sibling-avoid
 * and sibling-throttle.  The CPUs of primaries change, so hpcb_siblings_lower is called
 * again when jobs start and end.
 */
#ifndef HPCB_CGROUP_SIBLINGS_H
#define HPCB_CGROUP_SIBLINGS_H

#include "cgroup/mechanism.h"
#include "policy/siblings.h"

/* Measures that the configuration allows. */
typedef struct {
    bool cookie;
    bool avoid;
    bool throttle;
    unsigned difference; /* of priorities, policy/share.h */
    /* Known to the caller, for several tasks of one job; NULL: read here. */
    const hpcb_cores_t *cores;
    const hpcb_cpus_t *held; /* of hpcb_held_cpus */
} hpcb_siblings_want_t;

/* State of a guest's task between calls; all zero: nothing done yet. */
typedef struct {
    bool based;                /* base is known: */
    bool group;                /* it is the step's cpuset, common to all its tasks */
    hpcb_cpus_t base;          /* CPUs of the task without our restriction */
    hpcb_siblings_plan_t plan; /* in force */
    /* Original state if the undo log could not be written; NULL: it is in the log. */
    hpcb_undo_t *unlogged;
} hpcb_siblings_task_t;

/*
 * Decide for target->pid and apply the plan; task->plan is in force afterwards, and the
 * previous one is undone.  If a mechanism fails it is undone and the next one tried; if
 * none is left, the previous plan stays in force.
 *
 * Only the guest is changed, so this also works without an undo log (target->undo is
 * NULL or cannot be written): task->unlogged keeps the entries until the first call
 * with a working log.  Return 0 if a plan is in force or none is needed (a node without
 * information about cores in sysfs counts as one without SMT); -1 with err and the
 * reason of each failure if the guest remains exposed.  Called as root.  Never blocks.
 */
int hpcb_siblings_lower(const hpcb_target_t *target, const hpcb_siblings_want_t *want,
                        hpcb_siblings_task_t *task, hpcb_error_t *err);

/* Free the memory of task; the plan stays in force. */
void hpcb_siblings_forget(hpcb_siblings_task_t *task);

/* Throttle target in addition to any other measure, because the guest removes its
 * cookie. */
int hpcb_siblings_punish(const hpcb_target_t *target, const hpcb_siblings_want_t *want,
                         hpcb_error_t *err);

/*
 * Return the measure in force for target->pid, read from the kernel: the name of a row,
 * "none needed" (no primary on another thread of a core that it may use, whether it is
 * kept off or not), "" on a node without SMT, or NULL with err if the task is exposed.
 * Works without privilege, but CPUs that cannot be checked count as those of primaries.
 */
const char *hpcb_siblings_state(const hpcb_target_t *target, hpcb_error_t *err);

/*
 * Give the job's cookie to processes of the target's job without one; a new cookie if
 * no process has it any more.  A call scans 4096 processes, starting at number *from,
 * which is initially 0 and then updated.  Return the number of processes without a
 * cookie; *who (may be NULL) is one of them.
 */
unsigned hpcb_siblings_mend(const hpcb_target_t *target, unsigned *from, pid_t *who);

/* Remove the cookie of process pid, if any.  Return 0, or -1 with err. */
int hpcb_siblings_free(pid_t pid, hpcb_error_t *err);

#endif
