/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cgroup/freeze.h"
#include "cgroup/knob.h"
#include "cgroup/steps.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "common/state.h"

#define LOG_NAME "frozen"

/* Slurm suspends all steps of a job: one of these would show it. */
#define STEPS_MAX 64

/* The last line: a log without it was cut short. */
#define LOG_END "end\n"

#define LOG_MAX ((size_t)HPCB_FREEZE_LEVELS_MAX * PATH_MAX + sizeof(LOG_END))

bool hpcb_freeze_possible(const hpcb_node_t *node)
{
    return hpcb_node_mount(node, HPCB_CTL_UNIFIED) != NULL;
}

/* Call visit for each group below dir/name that is called task_*. */
static int each_task(const char *dir, const char *name, hpcb_freeze_visit_t visit,
                     void *arg)
{
    hpcb_autoclosedir DIR *handle = NULL;
    char user[PATH_MAX], level[PATH_MAX];
    struct dirent *entry;
    int rc = 0;

    if (hpcb_knob_path(dir, name, user, sizeof(user), NULL) == 0)
        handle = opendir(user);
    while (rc == 0 && handle && (entry = readdir(handle))) {
        if (strncmp(entry->d_name, "task_", 5) == 0 &&
            hpcb_knob_path(user, entry->d_name, level, sizeof(level), NULL) == 0 &&
            hpcb_knob_exists(level, HPCB_FREEZE_KNOB))
            rc = visit(level, arg);
    }
    return rc;
}

static int each_step(const char *job_dir, bool logins, hpcb_freeze_visit_t visit,
                     void *arg)
{
    hpcb_autoclosedir DIR *handle = *job_dir ? opendir(job_dir) : NULL;
    char name[NAME_MAX + 8];
    struct dirent *entry;
    int rc = 0;

    while (rc == 0 && handle && (entry = readdir(handle))) {
        if (strncmp(entry->d_name, "step_", 5) != 0 ||
            (!logins && strcmp(entry->d_name, "step_extern") == 0))
            continue;
        snprintf(name, sizeof(name), "%s/user", entry->d_name);
        rc = each_task(job_dir, name, visit, arg);
    }
    return rc;
}

/* 0 if there is such a group. */
static int meter_group(const hpcb_node_t *node, uint32_t job_id, char *level,
                       size_t size)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_UNIFIED);
    char name[64];

    hpcb_node_job_group(HPCB_UNIFIED_GROUP, job_id, name, sizeof(name));
    if (!mount || hpcb_knob_path(mount, name, level, size, NULL) < 0 ||
        !hpcb_knob_exists(level, HPCB_FREEZE_KNOB))
        return -1;
    return 0;
}

int hpcb_freeze_levels(const hpcb_node_t *node, uint32_t job_id, const char *job_dir,
                       bool logins, hpcb_freeze_visit_t visit, void *arg)
{
    char level[PATH_MAX];

    if (meter_group(node, job_id, level, sizeof(level)) == 0)
        return visit(level, arg);
    if (hpcb_node_version(node, HPCB_CTL_FREEZER) != 2)
        return 0;
    return each_step(job_dir, logins, visit, arg);
}

/* v1: all states but THAWED; a step that has gone is not suspended. */
static bool step_is_frozen(const hpcb_node_t *node, const char *step)
{
    char text[32];

    if (hpcb_node_version(node, HPCB_CTL_FREEZER) == 2)
        return hpcb_knob_read(step, "user/" HPCB_FREEZE_KNOB, text, sizeof(text),
                              NULL) == 0 &&
               strcmp(text, "1") == 0;
    return hpcb_knob_read(step, "freezer.state", text, sizeof(text), NULL) == 0 &&
           strcmp(text, "THAWED") != 0;
}

bool hpcb_freeze_by_slurm(const hpcb_node_t *node, const char *job_dir)
{
    hpcb_autoclosedir DIR *handle = *job_dir ? opendir(job_dir) : NULL;
    char step[PATH_MAX];
    struct dirent *entry;
    bool frozen = false;
    unsigned steps = 0;

    while (!frozen && handle && steps < STEPS_MAX && (entry = readdir(handle))) {
        if (strncmp(entry->d_name, "step_", 5) != 0 ||
            hpcb_knob_path(job_dir, entry->d_name, step, sizeof(step), NULL) < 0)
            continue;
        steps++;
        frozen = step_is_frozen(node, step);
    }
    return frozen;
}

static int log_path(const char *state_dir, char *path, size_t size, hpcb_error_t *err)
{
    return hpcb_knob_path(state_dir, LOG_NAME, path, size, err);
}

static int remove_log(const char *path, hpcb_error_t *err)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return 0;
    return hpcb_error(err, "%s: %s", path, strerror(errno));
}

int hpcb_freeze_log_replace(const char *state_dir, const char *const *levels,
                            size_t count, hpcb_error_t *err)
{
    hpcb_autofree char *text = NULL;
    size_t size = sizeof(LOG_END), used = 0;
    char path[PATH_MAX];

    if (log_path(state_dir, path, sizeof(path), err) < 0)
        return -1;
    if (count == 0)
        return remove_log(path, err);
    for (size_t i = 0; i < count; i++)
        size += strlen(levels[i]) + 1;
    text = malloc(size);
    if (!text)
        return hpcb_error(err, "%s: out of memory", path);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s\n", levels[i]);
    memcpy(text + used, LOG_END, sizeof(LOG_END));
    /* cgroups do not outlive the kernel either. */
    return hpcb_file_swap(path, text, size - 1, 0600, err);
}

typedef struct {
    const hpcb_node_t *node;
    const char *state_dir;
    int count; /* levels that were stopped */
    bool failed;
    hpcb_error_t *err; /* the first failure's */
} thaw_t;

static int thaw(const char *level, void *arg)
{
    thaw_t *all = arg;
    hpcb_error_t *err = all->failed ? NULL : all->err;
    char state[32];

    if (hpcb_knob_read(level, HPCB_FREEZE_KNOB, state, sizeof(state), err) == 0) {
        if (strcmp(state, "1") != 0)
            return 0;
        if (hpcb_knob_write(level, HPCB_FREEZE_KNOB, "0", err) == 0) {
            all->count++;
            return 0;
        }
    }
    all->failed |= !hpcb_knob_gone(errno);
    return 0;
}

int hpcb_freeze_thaw_job(const hpcb_node_t *node, uint32_t job_id, const char *job_dir,
                         hpcb_error_t *err)
{
    thaw_t all = {.node = node, .err = err};

    hpcb_freeze_levels(node, job_id, job_dir, true, thaw, &all);
    return all.failed ? -1 : all.count;
}

/* True for a path below the mount that levels are in. */
static bool may_be_level(const hpcb_node_t *node, const char *path)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_UNIFIED);
    size_t length = mount ? strlen(mount) : 0;

    return mount && strncmp(path, mount, length) == 0 && path[length] == '/' &&
           !strstr(path, "/../");
}

/* Thaw what text names.  False if it is no whole log. */
static bool thaw_named(thaw_t *all, char *text)
{
    size_t length = strlen(text), end = strlen(LOG_END);
    char *save = NULL;

    if (length < end || strcmp(text + length - end, LOG_END) != 0)
        return false;
    text[length - end] = '\0';
    for (char *level = strtok_r(text, "\n", &save); level;
         level = strtok_r(NULL, "\n", &save)) {
        if (!may_be_level(all->node, level))
            return false;
        thaw(level, all);
    }
    return true;
}

static int thaw_recorded(const hpcb_job_state_t *state, void *arg)
{
    thaw_t *all = arg;
    char dir[PATH_MAX];

    if (hpcb_state_load_place(all->state_dir, state->job_id, dir, sizeof(dir), NULL) <
        0)
        dir[0] = '\0';
    return hpcb_freeze_levels(all->node, state->job_id, dir, true, thaw, all);
}

static int thaw_dir(const char *dir, void *arg)
{
    thaw_t *all = arg;

    each_step(dir, true, thaw, all);
    return 0;
}

/* Jobs next to it have a directory, too, recorded or not. */
static int thaw_beside(const hpcb_job_state_t *state, void *arg)
{
    thaw_t *all = arg;
    char dir[PATH_MAX];

    return hpcb_state_load_place(all->state_dir, state->job_id, dir, sizeof(dir),
                                 NULL) == 0 &&
           hpcb_steps_jobs(all->node, dir, thaw_dir, all) == 0;
}

static void thaw_meters(thaw_t *all)
{
    const char *mount = hpcb_node_mount(all->node, HPCB_CTL_UNIFIED);
    hpcb_autoclosedir DIR *handle = NULL;
    char above[PATH_MAX], level[PATH_MAX];
    struct dirent *entry;

    if (mount &&
        hpcb_knob_path(mount, HPCB_UNIFIED_GROUP, above, sizeof(above), NULL) == 0)
        handle = opendir(above);
    while (handle && (entry = readdir(handle))) {
        if (strncmp(entry->d_name, "job_", 4) == 0 &&
            hpcb_knob_path(above, entry->d_name, level, sizeof(level), NULL) == 0 &&
            hpcb_knob_exists(level, HPCB_FREEZE_KNOB))
            thaw(level, all);
    }
}

static void thaw_unrecorded(thaw_t *all)
{
    thaw_meters(all);
    if (hpcb_node_version(all->node, HPCB_CTL_FREEZER) == 2)
        hpcb_state_each(all->state_dir, thaw_beside, all, NULL);
}

/* False if the log cannot be believed. */
static bool thaw_log(thaw_t *all, const char *path)
{
    hpcb_autofree char *text = malloc(LOG_MAX);
    hpcb_error_t why;

    hpcb_error(&why, "%s is not whole", path);
    if (text && hpcb_file_read_trusted(path, text, LOG_MAX, &why) >= 0 &&
        thaw_named(all, text))
        return true;
    hpcb_log(HPCB_LOG_ERROR, "%s; all jobs of this node are set going", why.text);
    return false;
}

int hpcb_freeze_release(const hpcb_node_t *node, const char *state_dir,
                        hpcb_error_t *err)
{
    thaw_t all = {.node = node, .state_dir = state_dir, .err = err};
    char path[PATH_MAX];

    if (log_path(state_dir, path, sizeof(path), err) < 0)
        return -1;
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (!thaw_log(&all, path)) {
        if (hpcb_state_each(state_dir, thaw_recorded, &all, all.failed ? NULL : err) <
            0)
            all.failed = true;
        thaw_unrecorded(&all);
        if (!all.failed && remove_log(path, err) < 0)
            return -1;
    }
    return all.failed ? -1 : all.count;
}
