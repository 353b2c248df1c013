/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Races.  Several slurmstepds join at once, and the cleanup of an ending job removes
 * the common group if it is empty:
 *  - Both create it: EEXIST is success.
 *  - It is removed between our mkdir of it and our mkdir below it: ENOENT, try again.
 *  - It was removed and created again by another job that has not lowered it yet: a
 *    group with a child cannot be removed, so we lower it (and read that back) only
 *    after the child exists.
 *  - The undo of another step of the same job removes job_<id> before our task is in:
 *    ENOENT or ENODEV from cgroup.procs, try again.
 *
 * If cpu and cpuacct share a hierarchy (systemd's v1 layout) and Slurm runs with
 * jobacct_gather/cgroup, the move takes the task out of Slurm's cpuacct group: Slurm
 * then misses CPU time of guests, sensor/ does not.  slurmstepd adds the task to its
 * groups before the task_post_fork hook and not again (Slurm 22.05.8).
 *
 * The common group's knobs are in no undo log: they are undone by removing the group
 * with its last job, and never earlier, because other guests are in it.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "cgroup/knob.h"
#include "cgroup/rows.h"
#include "cgroup/task.h"

#define JOIN_TRIES 16

static int job_name(const hpcb_target_t *target, char *name, size_t size)
{
    return hpcb_node_job_group(target->guest_cgroup, target->job_id, name, size);
}

static int mark_name(const char *guest_cgroup, uint32_t job_id, char *name, size_t size)
{
    int n = snprintf(name, size, "%s/guest_%" PRIu32, guest_cgroup, job_id);

    return n < 0 || (size_t)n >= size ? -1 : 0;
}

static int check_name(const char *name, hpcb_error_t *err)
{
    if (name && name[0] && name[0] != '.' && !strchr(name, '/'))
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "\"%s\" cannot be the name of a group", name ? name : "");
}

int hpcb_guest_group_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    const char *cpu = hpcb_node_mount(node, HPCB_CTL_CPU);
    const char *cpuset = hpcb_node_mount(node, HPCB_CTL_CPUSET);

    if (!cpu)
        return hpcb_error(err, "no cpu controller is mounted");
    if (hpcb_node_version(node, HPCB_CTL_CPU) == 1 && cpuset &&
        strcmp(cpu, cpuset) == 0)
        return hpcb_error(err,
                          "cpuset is mounted together with cpu: a group for guests "
                          "would take them out of Slurm's cpuset");
    return 0;
}

/* Note the group that the target leaves, once: a second try finds it noted. */
static int note_place(const hpcb_target_t *target, hpcb_error_t *err)
{
    char old[PATH_MAX];

    if (hpcb_node_task_dir(target->node, target->pid, HPCB_CTL_CPU, old, sizeof(old),
                           err) < 0)
        return -1;
    if (!target->undo)
        return 0;
    return hpcb_undo_note_task(target->undo, target->pid, "cgroup", old, err);
}

static int join_once(const hpcb_target_t *target, const char *job,
                     int (*lower)(const char *group, hpcb_error_t *err),
                     hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(target->node, HPCB_CTL_CPU);
    char common[PATH_MAX], dir[PATH_MAX];

    if (hpcb_knob_path(mount, target->guest_cgroup, common, sizeof(common), err) < 0 ||
        hpcb_knob_path(mount, job, dir, sizeof(dir), err) < 0)
        return -1;
    if (hpcb_knob_mkdir(common, "", err) < 0 || hpcb_knob_mkdir(dir, "", err) < 0)
        return -1;
    if (lower(common, err) < 0)
        return -1;
    return hpcb_task_set(target->pid, "cgroup", dir, err);
}

int hpcb_guest_group_join(const hpcb_target_t *target,
                          int (*lower)(const char *group, hpcb_error_t *err),
                          hpcb_error_t *err)
{
    char job[NAME_MAX], group[PATH_MAX];

    if (check_name(target->guest_cgroup, err) < 0)
        return -1;
    if (job_name(target, job, sizeof(job)) < 0)
        return hpcb_error(err, "%s: name too long", target->guest_cgroup);
    if (hpcb_guest_group_check(target, group, sizeof(group), NULL) == 0)
        return lower(group, err);
    if (note_place(target, err) < 0)
        return -1;
    for (int i = 0; i < JOIN_TRIES; i++) {
        if (join_once(target, job, lower, err) == 0)
            return 0;
        if (errno != ENOENT && errno != ENODEV)
            return -1;
    }
    return -1;
}

int hpcb_guest_group_check(const hpcb_target_t *target, char *group, size_t size,
                           hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(target->node, HPCB_CTL_CPU);
    char dir[PATH_MAX];
    size_t length;

    if (check_name(target->guest_cgroup, err) < 0 ||
        hpcb_node_task_dir(target->node, target->pid, HPCB_CTL_CPU, dir, sizeof(dir),
                           err) < 0 ||
        hpcb_knob_path(mount, target->guest_cgroup, group, size, err) < 0)
        return -1;
    length = strlen(group);
    if (strncmp(dir, group, length) == 0 && (dir[length] == '/' || dir[length] == '\0'))
        return 0;
    errno = ENOENT;
    return hpcb_error(err, "task %d is in %s, not in %s", (int)target->pid, dir, group);
}

int hpcb_guest_group_job(const hpcb_target_t *target, char *dir, size_t size,
                         hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(target->node, HPCB_CTL_CPU);
    char common[PATH_MAX], job[NAME_MAX];

    if (hpcb_guest_group_check(target, common, sizeof(common), err) < 0)
        return -1;
    if (job_name(target, job, sizeof(job)) < 0)
        return hpcb_error(err, "%s: name too long", target->guest_cgroup);
    return hpcb_knob_path(mount, job, dir, size, err);
}

static int remove_group(const char *mount, const char *name, hpcb_error_t *err)
{
    return hpcb_knob_rmdir(mount, name, err) < 0 && errno != ENOENT ? -1 : 0;
}

/* v1: the group with the tasks.  The mark stays. */
static int remove_job(const hpcb_target_t *target, hpcb_error_t *err)
{
    char job[NAME_MAX];

    if (check_name(target->guest_cgroup, err) < 0)
        return -1;
    if (job_name(target, job, sizeof(job)) < 0)
        return hpcb_error(err, "%s: name too long", target->guest_cgroup);
    return remove_group(hpcb_node_mount(target->node, HPCB_CTL_CPU), job, err);
}

int hpcb_isolate_cleanup(const hpcb_node_t *node, const char *guest_cgroup,
                         uint32_t job_id, hpcb_error_t *err)
{
    const hpcb_target_t target = {
        .node = node, .guest_cgroup = guest_cgroup, .job_id = job_id};
    const char *mount = hpcb_node_mount(node, HPCB_CTL_CPU);
    char mark[NAME_MAX];
    int rc;

    if (!mount)
        return 0;
    if (check_name(guest_cgroup, err) < 0)
        return -1;
    rc = remove_job(&target, err);
    if (mark_name(guest_cgroup, job_id, mark, sizeof(mark)) == 0 &&
        remove_group(mount, mark, rc < 0 ? NULL : err) < 0)
        rc = -1;
    /* Fails as long as other jobs are in it: as it should. */
    hpcb_knob_rmdir(mount, guest_cgroup, NULL);
    return rc;
}

int hpcb_guest_mark(const hpcb_node_t *node, const char *guest_cgroup, uint32_t job_id,
                    hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_CPU);
    char mark[NAME_MAX];
    int rc = -1;

    if (!mount) {
        errno = ENOENT;
        return hpcb_error(err, "no cpu controller is mounted");
    }
    if (check_name(guest_cgroup, err) < 0)
        return -1;
    if (mark_name(guest_cgroup, job_id, mark, sizeof(mark)) < 0)
        return hpcb_error(err, "%s: name too long", guest_cgroup);
    /* The end of another job may take the common group away in between. */
    for (int i = 0; i < JOIN_TRIES && rc < 0; i++) {
        rc = hpcb_knob_mkdir(mount, guest_cgroup, err);
        if (rc == 0)
            rc = hpcb_knob_mkdir(mount, mark, err);
        if (rc < 0 && errno != ENOENT)
            break;
    }
    return rc;
}

bool hpcb_guest_marked(const hpcb_node_t *node, const char *guest_cgroup,
                       uint32_t job_id, pid_t pid)
{
    const hpcb_target_t target = {.guest_cgroup = guest_cgroup, .job_id = job_id};
    const char *mount = hpcb_node_mount(node, HPCB_CTL_CPU);
    char name[NAME_MAX], dir[PATH_MAX], idle[16];

    if (!mount || check_name(guest_cgroup, NULL) < 0)
        return false;
    if (mark_name(guest_cgroup, job_id, name, sizeof(name)) == 0 &&
        hpcb_knob_exists(mount, name))
        return true;
    if (hpcb_node_version(node, HPCB_CTL_CPU) == 1)
        return job_name(&target, name, sizeof(name)) == 0 &&
               hpcb_knob_exists(mount, name);
    return hpcb_node_job_dir(node, pid, HPCB_CTL_CPU, dir, sizeof(dir), NULL) == 0 &&
           hpcb_knob_read(dir, HPCB_KNOB_IDLE, idle, sizeof(idle), NULL) == 0 &&
           strcmp(idle, "1") == 0;
}

int hpcb_guest_group_undo(const hpcb_mechanism_t *row, const hpcb_target_t *target,
                          hpcb_error_t *err)
{
    int rc = hpcb_row_undo(row, target, err);

    if (hpcb_node_version(target->node, HPCB_CTL_CPU) == 1 &&
        remove_job(target, NULL) == 0)
        hpcb_knob_rmdir(hpcb_node_mount(target->node, HPCB_CTL_CPU),
                        target->guest_cgroup, NULL);
    return rc;
}
