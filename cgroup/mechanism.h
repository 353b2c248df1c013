/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Table of mechanisms that lower a guest on this node.  Each row has a name, probe,
 * apply, verify and undo (doc/architecture.md, "Where guests are isolated").
 *
 * Rules for every row:
 *  - Guests are lowered, primaries are not changed, except by primary-weight, which
 *    gives a primary with many CPUs the weight of one with few.
 *  - apply writes the old state to the undo log before it changes anything.
 *  - A mechanism is in force only after verify has read it back at the level where
 *    guest and primary compete.
 *  - With cpu.idle=1 later writes to cpu.weight/cpu.shares fail with EINVAL.
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
    int oom_score_adj;        /* 0: unchanged */
    unsigned memory_high;     /* percent of the job's memory limit; 0: unchanged */
    const char *affinity;     /* row cpu-affinity: hexadecimal mask (cgroup/task.h) */
    const hpcb_cpus_t *cpus;  /* row sibling-avoid: all CPUs that the guest may use */
    uint64_t share;           /* row sibling-throttle: millionths of one CPU, 0 = all */
    unsigned processors;      /* row primary-weight: CPUs of the job on this node */
    hpcb_undo_t *undo;        /* NULL: nothing is logged */
} hpcb_target_t;

typedef struct hpcb_mechanism {
    const char *name; /* "idle-group" */
    const char *what; /* one line for hpcbctl status */
    bool isolates;    /* sufficient on its own to keep a guest off a primary's CPU */
    bool every_guest; /* hpcb_isolate applies it; false: only on request and by
                         hpcb_siblings_lower */
    bool required;    /* no guest task starts unless it is in force */
    /* 0 if the node supports it; -1 with the reason */
    int (*probe)(const hpcb_node_t *node, hpcb_error_t *err);
    int (*apply)(const hpcb_target_t *target, hpcb_error_t *err);
    /* 0 if it is in force for target->pid now, read back from the kernel */
    int (*verify)(const hpcb_target_t *target, hpcb_error_t *err);
    /* Restore what apply changed for target->pid through target->undo, also after a
     * partial apply.  Without target->undo only our groups are removed and a frozen job
     * is thawed. */
    int (*undo)(const struct hpcb_mechanism *row, const hpcb_target_t *target,
                hpcb_error_t *err);
} hpcb_mechanism_t;

/* In order of preference; isolating rows come first. */
const hpcb_mechanism_t *hpcb_mechanisms(size_t *count);
const hpcb_mechanism_t *hpcb_mechanism_find(const char *name);

/*
 * Make target a guest: apply isolating mechanisms in order until one verifies (those
 * that do not are undone), then all other mechanisms for guests that the node supports
 * (failures are logged at debug level and ignored).  Return the isolating mechanism, or
 * NULL with err and the reason of each failure.  If the undo log cannot be written the
 * guest is isolated anyway, and an error is logged.  Never blocks.  Called as root
 * before the task runs user code.
 */
const hpcb_mechanism_t *hpcb_isolate(const hpcb_target_t *target, hpcb_error_t *err);

/* Return the isolating mechanism that is in force for target now together with every
 * required one, or NULL with err.  Needs no privilege: the task itself calls it before
 * it runs user code. */
const hpcb_mechanism_t *hpcb_isolated(const hpcb_target_t *target, hpcb_error_t *err);

/*
 * Mark the job as a guest in the kernel if its record cannot be written: create an
 * empty group <GuestCgroup>/guest_<id> at the top of the cpu hierarchy, which needs no
 * disk space and which only root can create or remove.  Return 0, or -1 with errno and
 * err.
 */
int hpcb_guest_mark(const hpcb_node_t *node, const char *guest_cgroup, uint32_t job_id,
                    hpcb_error_t *err);

/* Return whether the kernel state shows that the job is a guest: that mark, its group
 * of guests (v1), or its idle directory that contains pid (v2).  Only root can create
 * these. */
bool hpcb_guest_marked(const hpcb_node_t *node, const char *guest_cgroup,
                       uint32_t job_id, pid_t pid);

/* Remove the guest groups that job_id leaves behind (without tasks); the common group
 * is removed with the last job.  Return 0, or -1 with errno EBUSY and err. */
int hpcb_isolate_cleanup(const hpcb_node_t *node, const char *guest_cgroup,
                         uint32_t job_id, hpcb_error_t *err);

#endif
