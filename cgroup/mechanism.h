/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The mechanism table: everything that lowers a guest on this node.  One row each:
 * name, probe, apply, verify, undo (doc/architecture.md, "Where a guest is lowered").
 *
 * Rules that hold for every row:
 *  - guests are lowered, primaries are not touched (but for primary-weight, which gives
 *    a wide one what a narrow one has);
 *  - apply notes in the undo log what was there before it writes;
 *  - a mechanism is in force only when verify has read it back at the level where
 *    guest and primary compete;
 *  - cpu.idle=1 makes later writes to cpu.weight/cpu.shares fail with EINVAL.
 */
#ifndef HPCB_CGROUP_MECHANISM_H
#define HPCB_CGROUP_MECHANISM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "cgroup/node.h"
#include "cgroup/undo.h"
#include "policy/cpus.h"

typedef struct {
    const hpcb_node_t *node;
    pid_t pid; /* the guest's task; the primary's for row primary-weight */
    uint32_t job_id;
    const char *guest_cgroup; /* name of the group of guests (GuestCgroup) */
    int oom_score_adj;        /* 0 = leave alone */
    unsigned memory_high;     /* percent of the job's memory limit, 0 = leave alone */
    const char *affinity;     /* row cpu-affinity: hexadecimal mask (cgroup/task.h) */
    const hpcb_cpus_t *cpus;  /* row sibling-avoid: all that the guest may use */
    uint64_t share;           /* row sibling-throttle: millionths of one CPU, 0 = all */
    unsigned processors;      /* row primary-weight: of the job on this node */
    hpcb_undo_t *undo;        /* may be NULL: nothing is noted */
} hpcb_target_t;

typedef struct hpcb_mechanism {
    const char *name; /* "idle-group" */
    const char *what; /* one line for hpcbctl status */
    bool isolates;    /* enough on its own to keep a guest off a primary's CPU */
    bool every_guest; /* hpcb_isolate applies it; false: only on request, and by
                         hpcb_siblings_lower */
    bool required;    /* no guest's task starts if it is not in force */
    /* 0 where the node has it; -1 and why not */
    int (*probe)(const hpcb_node_t *node, hpcb_error_t *err);
    int (*apply)(const hpcb_target_t *target, hpcb_error_t *err);
    /* 0 when in force for target->pid now, read back from the kernel */
    int (*verify)(const hpcb_target_t *target, hpcb_error_t *err);
    /* Put back what apply changed for target->pid through target->undo, also after an
     * apply that failed half-way.  Without target->undo only groups of ours are removed
     * and a frozen job is thawed. */
    int (*undo)(const struct hpcb_mechanism *row, const hpcb_target_t *target,
                hpcb_error_t *err);
} hpcb_mechanism_t;

/* In order of preference; those that isolate come first. */
const hpcb_mechanism_t *hpcb_mechanisms(size_t *count);
const hpcb_mechanism_t *hpcb_mechanism_find(const char *name);

/*
 * Make target a guest: the first isolating mechanism that verifies (one that was
 * applied and does not is undone), then every other one for guests that the node has
 * (their failures are logged at debug level and forgotten).
 * Returns the isolating mechanism, or NULL with err that says why each one failed.
 * Where the undo log cannot be written the guest is isolated all the same, and an
 * error is logged.
 * Bounded: no call inside waits.  Called as root before the task runs user code.
 */
const hpcb_mechanism_t *hpcb_isolate(const hpcb_target_t *target, hpcb_error_t *err);

/* The isolating mechanism that is in force for target now, together with every required
 * one, or NULL with err.  Works without privilege: the task itself asks before it runs
 * user code. */
const hpcb_mechanism_t *hpcb_isolated(const hpcb_target_t *target, hpcb_error_t *err);

/*
 * Mark the job as a guest in the kernel, where its record cannot be written: an empty
 * group <GuestCgroup>/guest_<id> at the top of the cpu hierarchy, which takes no disk
 * space and which only root can make or remove.  0, or -1 with errno and err.
 */
int hpcb_guest_mark(const hpcb_node_t *node, const char *guest_cgroup, uint32_t job_id,
                    hpcb_error_t *err);

/* Whether root has left in the kernel that the job is a guest: that mark, its group of
 * guests (v1), or its directory, which holds pid and is idle (v2). */
bool hpcb_guest_marked(const hpcb_node_t *node, const char *guest_cgroup,
                       uint32_t job_id, pid_t pid);

/* Remove the guest groups that job_id leaves behind (no tasks inside); the common
 * group goes with its last job.  0, or -1 with errno EBUSY and err. */
int hpcb_isolate_cleanup(const hpcb_node_t *node, const char *guest_cgroup,
                         uint32_t job_id, hpcb_error_t *err);

#endif
