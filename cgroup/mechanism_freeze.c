/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Row freeze: stops the tasks of the target's whole job, never its slurmstepds, which
 * must go on answering slurmd (in Slurm 22.05 they sit in job_N itself on v1 and in
 * step_M/slurm on v2).  By preference:
 *
 *  1. our own group of the job in a cgroup2 mount beside v1 controllers: SIGKILL still
 *     gets through, and Slurm's freezer is left to Slurm;
 *  2. v2: cgroup.freeze of each step_M/user, as Slurm itself suspends;
 *  3. v1: freezer.state of each step_M.  A kill then waits for the thaw.
 *
 * Freezing is asynchronous: verify says whether it has arrived, apply does not wait.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "cgroup/knob.h"
#include "cgroup/rows.h"

typedef int (*visit_t)(const hpcb_target_t *target, const char *dir, int version,
                       hpcb_error_t *err);

/* <unified>/hpcb/job_<id> where the target is below it. */
static int own_group(const hpcb_target_t *target, char *dir, size_t size)
{
    const char *mount = hpcb_node_mount(target->node, HPCB_CTL_UNIFIED);
    char name[64], task[PATH_MAX];
    size_t length;

    snprintf(name, sizeof(name), HPCB_UNIFIED_GROUP "/job_%" PRIu32, target->job_id);
    if (!mount || hpcb_node_version(target->node, HPCB_CTL_CPU) == 2 ||
        hpcb_node_task_dir(target->node, target->pid, HPCB_CTL_UNIFIED, task,
                           sizeof(task), NULL) < 0 ||
        hpcb_knob_path(mount, name, dir, size, NULL) < 0)
        return -1;
    length = strlen(dir);
    return strncmp(task, dir, length) == 0 && task[length] == '/' ? 0 : -1;
}

static int visit_step(const hpcb_target_t *target, const char *job, const char *step,
                      int version, visit_t visit, hpcb_error_t *err)
{
    char dir[PATH_MAX], name[NAME_MAX + 8];

    snprintf(name, sizeof(name), "%s%s", step, version == 2 ? "/user" : "");
    if (hpcb_knob_path(job, name, dir, sizeof(dir), err) < 0)
        return -1;
    if (!hpcb_knob_exists(dir, ""))
        return 0;
    return visit(target, dir, version, err);
}

/* Call visit for each group that holds tasks of the job; the first failure is told. */
static int each_group(const hpcb_target_t *target, visit_t visit, hpcb_error_t *err)
{
    int version = hpcb_node_version(target->node, HPCB_CTL_FREEZER), rc = 0;
    char dir[PATH_MAX];
    struct dirent *entry;
    DIR *job;

    if (own_group(target, dir, sizeof(dir)) == 0)
        return visit(target, dir, 2, err);
    if (hpcb_node_job_dir(target->node, target->pid, HPCB_CTL_FREEZER, dir, sizeof(dir),
                          err) < 0)
        return -1;
    job = opendir(dir);
    if (!job)
        return hpcb_error(err, "%s: %s", dir, strerror(errno));
    while ((entry = readdir(job))) {
        if (strncmp(entry->d_name, "step_", 5) == 0 &&
            visit_step(target, dir, entry->d_name, version, visit, rc ? NULL : err) <
                0 &&
            !hpcb_knob_gone(errno))
            rc = -1;
    }
    closedir(job);
    return rc;
}

int hpcb_freeze_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    if (hpcb_node_version(node, HPCB_CTL_FREEZER) ||
        hpcb_node_version(node, HPCB_CTL_UNIFIED))
        return 0;
    return hpcb_error(err, "neither a freezer controller nor cgroup2 is mounted");
}

static int freeze(const hpcb_target_t *target, const char *dir, int version,
                  hpcb_error_t *err)
{
    char state[32], path[PATH_MAX];

    if (version == 2)
        return hpcb_row_write(target, dir, "cgroup.freeze", "1", err);
    if (hpcb_knob_read(dir, "freezer.state", state, sizeof(state), err) < 0 ||
        hpcb_knob_path(dir, "freezer.state", path, sizeof(path), err) < 0)
        return -1;
    if (strcmp(state, "THAWED") != 0)
        return 0;
    if (target->undo && hpcb_undo_note_file(target->undo, path, state, err) < 0)
        return -1;
    return hpcb_knob_write(dir, "freezer.state", "FROZEN", err);
}

static int thaw(const hpcb_target_t *target, const char *dir, int version,
                hpcb_error_t *err)
{
    (void)target;
    if (version == 2)
        return hpcb_knob_write(dir, "cgroup.freeze", "0", err);
    return hpcb_knob_write(dir, "freezer.state", "THAWED", err);
}

static int check(const hpcb_target_t *target, const char *dir, int version,
                 hpcb_error_t *err)
{
    const char *name = version == 2 ? "cgroup.events" : "freezer.state";
    char text[256];

    (void)target;
    if (hpcb_knob_read(dir, name, text, sizeof(text), err) < 0)
        return -1;
    if (strstr(text, version == 2 ? "frozen 1" : "FROZEN"))
        return 0;
    errno = EAGAIN;
    return hpcb_error(err, "%s is not frozen", dir);
}

int hpcb_freeze_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    hpcb_row_begin(target, "freeze");
    return each_group(target, freeze, err);
}

int hpcb_freeze_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    return each_group(target, check, err);
}

int hpcb_freeze_undo(const hpcb_mechanism_t *row, const hpcb_target_t *target,
                     hpcb_error_t *err)
{
    if (target->undo)
        return hpcb_row_undo(row, target, err);
    return each_group(target, thaw, err);
}
