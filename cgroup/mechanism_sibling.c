/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Rows sibling-throttle and sibling-avoid, for nodes with SMT whose kernel has no core
 * scheduling.  policy/siblings chooses the row and the share.
 *
 * sibling-throttle sets a CFS quota on a group that contains only a guest's tasks and
 * is removed with them: our group of the job on v1, Slurm's directory of the task on
 * v2, never that of the job or step there, because slurmstepd is inside and must
 * continue to answer.  Quota and cpu.idle are independent: the kernel applies the quota
 * of an idle group like any other (tg_set_cfs_bandwidth and sched_group_set_idle do not
 * refer to each other; Linux 5.15 … 6.18), and only rejects writes to cpu.weight.  A
 * real-time task is not limited by the quota, so a throttled guest can end in time
 * (spank/dying.h).
 *
 * sibling-avoid reduces the cpuset of such a group (v2: of the task; v1: of the step),
 * which no user can extend.  Without cpusets the affinity of each thread is used, which
 * a user can change: hpcb_siblings_state then reports that the guest is exposed.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/cores.h"
#include "cgroup/knob.h"
#include "cgroup/quota.h"
#include "cgroup/rows.h"
#include "cgroup/task.h"
#include "policy/share.h"

/* v2: the group of the target below step_<S>/user that has the knob. */
static int own_group(const hpcb_target_t *target, hpcb_controller_t controller,
                     const char *knob, char *dir, size_t size, hpcb_error_t *err)
{
    char job[PATH_MAX];
    const char *user;

    if (hpcb_node_job_dir(target->node, target->pid, controller, job, sizeof(job),
                          err) < 0 ||
        hpcb_node_task_dir(target->node, target->pid, controller, dir, size, err) < 0)
        return -1;
    user = strstr(dir + strlen(job), "/user");
    while (user && strlen(dir) >= (size_t)(user - dir) + strlen("/user")) {
        if (hpcb_knob_exists(dir, knob))
            return 0;
        *strrchr(dir, '/') = '\0';
    }
    errno = ENOENT;
    return hpcb_error(err, "task %d has no %s in a group without slurmstepd",
                      (int)target->pid, knob);
}

static int quota_group(const hpcb_target_t *target, char *dir, size_t size,
                       hpcb_error_t *err)
{
    if (hpcb_node_version(target->node, HPCB_CTL_CPU) == 1)
        return hpcb_guest_group_job(target, dir, size, err);
    return own_group(target, HPCB_CTL_CPU, "cpu.max", dir, size, err);
}

static int cpu_version(const hpcb_target_t *target)
{
    return hpcb_node_version(target->node, HPCB_CTL_CPU);
}

static int write_quota(const hpcb_target_t *target, const char *dir,
                       const hpcb_quota_t *quota, hpcb_error_t *err)
{
    char text[HPCB_QUOTA_TEXT_MAX];

    hpcb_quota_text(cpu_version(target), quota, text);
    return hpcb_row_write(target, dir, hpcb_quota_knob(cpu_version(target)), text, err);
}

int hpcb_sibling_throttle_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_CPU);

    if (hpcb_node_smt(node, err) < 0 || hpcb_guest_group_probe(node, err) < 0)
        return -1;
    if (hpcb_node_sched_ext(node))
        return hpcb_error(err, "a sched_ext scheduler is loaded, which need not obey "
                               "quotas");
    /* The root group of v1 shows the files since CONFIG_CFS_BANDWIDTH (Linux 3.2). */
    if (hpcb_node_version(node, HPCB_CTL_CPU) == 1 &&
        !hpcb_knob_exists(mount, "cpu.cfs_quota_us"))
        return hpcb_error(err, "this kernel has no cpu.cfs_quota_us "
                               "(CONFIG_CFS_BANDWIDTH)");
    return 0;
}

/* Share 0 takes the quota off. */
int hpcb_sibling_throttle_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX];
    hpcb_quota_t now, wanted;

    hpcb_row_begin(target, "sibling-throttle");
    if (quota_group(target, dir, sizeof(dir), err) < 0 ||
        hpcb_quota_read(cpu_version(target), dir, &now, err) < 0)
        return -1;
    wanted = (hpcb_quota_t){HPCB_QUOTA_NONE, now.period_us};
    if (target->share)
        wanted.us = hpcb_share_quota(target->share, now.period_us);
    return now.us == wanted.us ? 0 : write_quota(target, dir, &wanted, err);
}

/* With share 0: that there is any quota. */
int hpcb_sibling_throttle_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX];
    uint64_t most = HPCB_QUOTA_NONE - 1;
    hpcb_quota_t now;

    if (hpcb_sibling_throttle_probe(target->node, err) < 0 ||
        quota_group(target, dir, sizeof(dir), err) < 0 ||
        hpcb_quota_read(cpu_version(target), dir, &now, err) < 0)
        return -1;
    if (target->share)
        most = hpcb_share_quota(target->share, now.period_us);
    if (now.us <= most)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "%s has no quota, or a larger one", dir);
}

int hpcb_sibling_avoid_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    return hpcb_node_smt(node, err);
}

/* v1: Slurm's directory of the step, in a hierarchy without the cpu controller. */
static int cpuset_group(const hpcb_target_t *target, char *dir, size_t size,
                        hpcb_error_t *err)
{
    char job[PATH_MAX];

    if (hpcb_node_version(target->node, HPCB_CTL_CPUSET) != 1)
        return own_group(target, HPCB_CTL_CPUSET, "cpuset.cpus", dir, size, err);
    if (hpcb_node_job_dir(target->node, target->pid, HPCB_CTL_CPUSET, job, sizeof(job),
                          err) < 0 ||
        hpcb_node_task_dir(target->node, target->pid, HPCB_CTL_CPUSET, dir, size, err) <
            0)
        return -1;
    if (strlen(dir) > strlen(job))
        return 0;
    errno = ENOENT;
    return hpcb_error(err, "task %d is in no cpuset of its step", (int)target->pid);
}

int hpcb_sibling_base(const hpcb_target_t *target, hpcb_cpus_t *base, bool *group,
                      hpcb_error_t *err)
{
    static const char *const names[] = {"cpuset.cpus.effective",
                                        "cpuset.effective_cpus", "cpuset.cpus"};
    char dir[PATH_MAX], text[HPCB_TASK_TEXT_MAX * 2];

    *group = false;
    if (cpuset_group(target, dir, sizeof(dir), NULL) < 0)
        return hpcb_task_cpus(target->pid, base, err);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !*group; i++) {
        *group = hpcb_knob_read(dir, names[i], text, sizeof(text), NULL) == 0 &&
                 text[0] && hpcb_cpus_parse(text, base) == 0;
    }
    return *group ? 0 : hpcb_task_cpus(target->pid, base, err);
}

/*
 * Get the value to restore: on v2 cpuset.cpus is empty as long as the group has its
 * parent's, but cannot be emptied again while tasks are in it (ENOSPC, validate_change
 * in kernel/cgroup/cpuset.c); the effective one is equivalent.
 */
static int read_cpuset(const char *dir, char *text, size_t size, hpcb_error_t *err)
{
    if (hpcb_knob_read(dir, "cpuset.cpus", text, size, err) < 0)
        return -1;
    return text[0] ? 0 : hpcb_knob_read(dir, "cpuset.cpus.effective", text, size, err);
}

static int narrow(const hpcb_target_t *target, const char *dir, hpcb_error_t *err)
{
    char text[HPCB_TASK_TEXT_MAX], old[HPCB_TASK_TEXT_MAX], path[PATH_MAX];

    if (hpcb_cpus_list(target->cpus, text, sizeof(text)) < 0) {
        errno = ENAMETOOLONG;
        return hpcb_error(err, "the list of CPUs is too long");
    }
    if (read_cpuset(dir, old, sizeof(old), err) < 0 ||
        hpcb_knob_path(dir, "cpuset.cpus", path, sizeof(path), err) < 0)
        return -1;
    if (strcmp(old, text) == 0)
        return 0;
    if (target->undo && hpcb_undo_note_file(target->undo, path, old, err) < 0)
        return -1;
    return hpcb_knob_write(dir, "cpuset.cpus", text, err);
}

static int bind_threads(const hpcb_target_t *target, hpcb_error_t *err)
{
    char mask[HPCB_TASK_TEXT_MAX];

    hpcb_task_mask(target->cpus, mask, sizeof(mask));
    return hpcb_row_set_threads(target, "affinity", mask, err);
}

static int no_cpus(hpcb_error_t *err)
{
    errno = EINVAL;
    return hpcb_error(err, "no CPUs are given");
}

int hpcb_sibling_avoid_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    char dir[PATH_MAX];

    hpcb_row_begin(target, "sibling-avoid");
    if (!target->cpus || hpcb_cpus_count(target->cpus) == 0)
        return no_cpus(err);
    if (cpuset_group(target, dir, sizeof(dir), NULL) == 0 &&
        narrow(target, dir, err) == 0)
        return 0;
    return bind_threads(target, err);
}

int hpcb_sibling_avoid_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    pid_t *tids = NULL;
    size_t count = 0;
    int rc = 0;

    if (!target->cpus)
        return no_cpus(err);
    if (hpcb_task_threads(target->pid, &tids, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count && rc == 0; i++) {
        hpcb_cpus_t now;

        if (hpcb_task_cpus(tids[i], &now, err) < 0)
            rc = errno == ESRCH && tids[i] != target->pid ? 0 : -1;
        else if (!hpcb_cpus_within(&now, target->cpus))
            rc = hpcb_error(err, "task %d may run on a sibling of a primary's thread",
                            (int)tids[i]);
    }
    free(tids);
    return rc;
}
