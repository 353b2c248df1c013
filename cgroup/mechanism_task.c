/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Rows that act on tasks: sched-idle and nice (which isolate only if guest and primary
 * are in one group of the scheduler), ionice, oom-score, realtime-limit, long-slice,
 * cpu-affinity.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/knob.h"
#include "cgroup/rows.h"
#include "cgroup/slices.h"
#include "cgroup/task.h"

#define SCHED_IDLE_TEXT "5 0" /* SCHED_IDLE of linux/sched.h, priority 0 */
#define LOWEST_NICE     "19"
#define IOPRIO_IDLE     "24576" /* IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT */
#define NO_RAISE        "0 0"   /* RLIMIT_NICE, RLIMIT_RTPRIO: no way up for the user */

/*
 * The nearest group above dir that the scheduler knows: on v2 tasks of a group without
 * the cpu controller compete in the next group above that has it.
 */
static size_t scheduled_in(const char *mount, char *dir)
{
    size_t top = strlen(mount);

    while (strlen(dir) > top && !hpcb_knob_exists(dir, "cpu.weight"))
        *strrchr(dir, '/') = '\0';
    return strlen(dir);
}

/* Return -1 if the target competes as a member of a group of its own; 0: with the tasks
 * of the mount's top; 1: in a group with all jobs (v2, scope without cpu). */
static int common_group(const hpcb_target_t *target, hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(target->node, HPCB_CTL_CPU);
    char dir[PATH_MAX], job[PATH_MAX];
    bool in_job;

    if (hpcb_node_task_dir(target->node, target->pid, HPCB_CTL_CPU, dir, sizeof(dir),
                           err) < 0)
        return -1;
    if (hpcb_node_version(target->node, HPCB_CTL_CPU) == 1) {
        if (strcmp(dir, mount) == 0)
            return 0;
        return hpcb_error(err, "task %d is in %s, not in the group of the primaries",
                          (int)target->pid, dir);
    }
    in_job = hpcb_node_job_dir(target->node, target->pid, HPCB_CTL_CPU, job,
                               sizeof(job), NULL) == 0;
    if (scheduled_in(mount, dir) == strlen(mount))
        return 0;
    if (in_job && strlen(dir) < strlen(job))
        return 1;
    return hpcb_error(err,
                      "task %d is scheduled in %s, not in the group of the "
                      "primaries",
                      (int)target->pid, dir);
}

/*
 * Policy and nice order tasks inside one group of the scheduler only.  In the kernel's
 * root group autogroup makes every session a group of its own; a child group, also one
 * that shows as "/" in a cgroup namespace, has no autogroups.
 */
static int beside_primaries(const hpcb_target_t *target, hpcb_error_t *err)
{
    int where = 0;

    if (hpcb_node_sched_ext(target->node))
        return hpcb_error(err, "a sched_ext scheduler is loaded");
    if (hpcb_node_version(target->node, HPCB_CTL_CPU))
        where = common_group(target, err);
    if (where < 0)
        return -1;
    if (where == 1 || !hpcb_node_autogroup(target->node))
        return 0;
    if (hpcb_node_version(target->node, HPCB_CTL_CPU) &&
        !hpcb_node_root_group(target->node, HPCB_CTL_CPU))
        return 0;
    return hpcb_error(err,
                      "autogroup makes every session a scheduling group of its own");
}

/* Only what is certain for every task: verify decides. */
static int probe_policy(const hpcb_node_t *node, hpcb_error_t *err)
{
    bool top = hpcb_node_version(node, HPCB_CTL_CPU) == 0 ||
               hpcb_node_root_group(node, HPCB_CTL_CPU);

    if (hpcb_node_sched_ext(node))
        return hpcb_error(err, "a sched_ext scheduler is loaded");
    if (hpcb_node_version(node, HPCB_CTL_CPU) == 2)
        return 0;
    if (top && hpcb_node_autogroup(node))
        return hpcb_error(err, "autogroup makes every session a scheduling group of "
                               "its own");
    return 0;
}

/* A user may raise the priority as far as RLIMIT_NICE allows, out of SCHED_IDLE too.  A
 * root without CAP_SYS_RESOURCE cannot change that: verify checks the limit. */
static int forbid_raise(const hpcb_target_t *target, hpcb_error_t *err)
{
    if (hpcb_row_set(target, target->pid, "rlimit-nice", NO_RAISE, err) == 0)
        return 0;
    return errno == EPERM ? 0 : -1;
}

static int check_no_raise(const hpcb_target_t *target, hpcb_error_t *err)
{
    char text[64];
    unsigned soft, hard;

    if (hpcb_task_get(target->pid, "rlimit-nice", text, sizeof(text), err) < 0)
        return -1;
    if (sscanf(text, "%9u %9u", &soft, &hard) == 2 && soft <= 1 && hard <= 1)
        return 0;
    errno = EPERM;
    return hpcb_error(err, "RLIMIT_NICE of task %d (%s) lets it raise itself",
                      (int)target->pid, text);
}

int hpcb_sched_idle_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    return probe_policy(node, err);
}

int hpcb_sched_idle_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    hpcb_row_begin(target, "sched-idle");
    if (forbid_raise(target, err) < 0)
        return -1;
    return hpcb_row_set_threads(target, "policy", SCHED_IDLE_TEXT, err);
}

int hpcb_sched_idle_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    if (hpcb_row_check_threads(target, "policy", SCHED_IDLE_TEXT, err) < 0 ||
        check_no_raise(target, err) < 0)
        return -1;
    return beside_primaries(target, err);
}

int hpcb_nice_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    return probe_policy(node, err);
}

int hpcb_nice_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    hpcb_row_begin(target, "nice");
    if (forbid_raise(target, err) < 0)
        return -1;
    return hpcb_row_set_threads(target, "nice", LOWEST_NICE, err);
}

int hpcb_nice_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    if (hpcb_row_check_threads(target, "nice", LOWEST_NICE, err) < 0 ||
        check_no_raise(target, err) < 0)
        return -1;
    return beside_primaries(target, err);
}

int hpcb_ionice_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    (void)err;
    return 0;
}

int hpcb_ionice_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    hpcb_row_begin(target, "ionice");
    return hpcb_row_set_threads(target, "ioprio", IOPRIO_IDLE, err);
}

int hpcb_ionice_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    return hpcb_row_check_threads(target, "ioprio", IOPRIO_IDLE, err);
}

int hpcb_oom_score_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    (void)err;
    return 0;
}

static int oom_score(const hpcb_target_t *target, int *score, hpcb_error_t *err)
{
    char text[32];

    if (hpcb_task_get(target->pid, "oom_score_adj", text, sizeof(text), err) < 0)
        return -1;
    *score = atoi(text);
    return 0;
}

/* Only up: a task that is already a likelier victim stays one.  The kernel keeps what
 * root has set as the user's lower limit. */
int hpcb_oom_score_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    char text[16];
    int now;

    hpcb_row_begin(target, "oom-score");
    if (oom_score(target, &now, err) < 0)
        return -1;
    if (target->oom_score_adj <= now || target->oom_score_adj == 0)
        return 0;
    snprintf(text, sizeof(text), "%d", target->oom_score_adj);
    return hpcb_row_set(target, target->pid, "oom_score_adj", text, err);
}

int hpcb_oom_score_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    int now;

    if (oom_score(target, &now, err) < 0)
        return -1;
    if (target->oom_score_adj == 0 || now >= target->oom_score_adj)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "oom_score_adj of task %d is %d", (int)target->pid, now);
}

/*
 * No group limits a task with a real-time policy.  A user may set one as far as
 * RLIMIT_RTPRIO allows, which PAM or the unit of slurmd may have raised.
 */
int hpcb_realtime_limit_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    (void)err;
    return 0;
}

/* The policy, which can only come from slurmd's own, is not given back. */
int hpcb_realtime_limit_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    hpcb_row_begin(target, "realtime-limit");
    if (hpcb_row_set(target, target->pid, "rlimit-rtprio", NO_RAISE, err) < 0)
        return -1;
    return hpcb_task_end_realtime(target->pid, err) < 0 ? -1 : 0;
}

int hpcb_realtime_limit_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    char text[64];

    if (hpcb_task_get(target->pid, "rlimit-rtprio", text, sizeof(text), err) < 0)
        return -1;
    errno = EPERM;
    if (strcmp(text, NO_RAISE) != 0)
        return hpcb_error(err, "RLIMIT_RTPRIO of task %d is %s, not " NO_RAISE,
                          (int)target->pid, text);
    if (hpcb_task_realtime(target->pid))
        return hpcb_error(err, "task %d has a real-time policy", (int)target->pid);
    return 0;
}

/*
 * A task is interrupted in its slice only after the shortest one of all that wait for
 * its CPU (Linux 6.18), so that a primary's long slice (cgroup/slices.h) needs guests
 * with long ones.  A user may shorten it again; what that costs a primary, policy/guard
 * bounds by other means.
 */
int hpcb_long_slice_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    return hpcb_slices_probe(node, err);
}

int hpcb_long_slice_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    hpcb_row_begin(target, "long-slice");
    return hpcb_row_set_threads(target, "slice", HPCB_SLICE_GUEST, err);
}

int hpcb_long_slice_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    return hpcb_row_check_threads(target, "slice", HPCB_SLICE_GUEST, err);
}

int hpcb_cpu_affinity_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    (void)err;
    return 0;
}

int hpcb_cpu_affinity_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    hpcb_row_begin(target, "cpu-affinity");
    if (target->affinity)
        return hpcb_row_set_threads(target, "affinity", target->affinity, err);
    errno = EINVAL;
    return hpcb_error(err, "no CPUs are given");
}

int hpcb_cpu_affinity_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    if (target->affinity)
        return hpcb_row_check_threads(target, "affinity", target->affinity, err);
    errno = EINVAL;
    return hpcb_error(err, "no CPUs are given");
}
