/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A group without controllers counts all the same: cpu.stat since Linux 4.15 and
 * cpu.pressure since 4.20 (each group, PSI switched on) cover every thread that ran in
 * it, those that have ended included.
 *
 * "some total" is the time during which at least one thread waited, and over several
 * CPUs the kernel takes the mean, weighted by how busy each CPU was (psi.c,
 * collect_percpu_times).  For a task bound to one CPU that is its run_delay (measured:
 * within 2 %); for a task with a thread on each of its CPUs it is the mean run delay of
 * a CPU, not the sum over threads.  Hence one group per task.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/knob.h"
#include "cgroup/tree.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "sensor/meter.h"

#define ATTACH_TRIES 16 /* against the end of another job, which removes "hpcb" */
#define STEP_MAX     64

/* Slurm has the cgroup2 hierarchy to itself: we make nothing there. */
static bool pure_v2(const hpcb_node_t *node)
{
    return hpcb_node_version(node, HPCB_CTL_CPU) == 2;
}

static const char *unified(const hpcb_node_t *node, hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_UNIFIED);

    if (!mount) {
        errno = ENOENT;
        hpcb_error(err, "no cgroup2 hierarchy is mounted: CPU time is not metered");
    }
    return mount;
}

static int job_group(const char *mount, uint32_t job_id, char *dir, size_t size,
                     hpcb_error_t *err)
{
    char name[64];

    hpcb_node_job_group(HPCB_UNIFIED_GROUP, job_id, name, sizeof(name));
    return hpcb_knob_path(mount, name, dir, size, err);
}

static int check_step(const char *step, hpcb_error_t *err)
{
    size_t length = strlen(step);
    bool good = length > 0 && length < STEP_MAX;

    for (size_t i = 0; i < length; i++)
        good &= isalnum((unsigned char)step[i]) || step[i] == '+' || step[i] == '_';
    if (good)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "\"%s\" is no step", step);
}

static int attach_once(const char *mount, const char *job, const char *task, pid_t pid,
                       hpcb_error_t *err)
{
    char dir[PATH_MAX], id[16];

    snprintf(id, sizeof(id), "%d", (int)pid);
    if (hpcb_knob_path(job, task, dir, sizeof(dir), err) < 0 ||
        hpcb_knob_mkdir(mount, HPCB_UNIFIED_GROUP, err) < 0 ||
        hpcb_knob_mkdir(job, "", err) < 0 || hpcb_knob_mkdir(dir, "", err) < 0)
        return -1;
    return hpcb_knob_write(dir, "cgroup.procs", id, err);
}

int hpcb_meter_attach(const hpcb_node_t *node, uint32_t job_id, const char *step,
                      uint32_t task, pid_t pid, hpcb_error_t *err)
{
    const char *mount;
    char job[PATH_MAX], name[STEP_MAX + 16];

    if (pure_v2(node))
        return 0;
    mount = unified(node, err);
    if (!mount || check_step(step, err) < 0 ||
        job_group(mount, job_id, job, sizeof(job), err) < 0)
        return -1;
    snprintf(name, sizeof(name), "%s.%" PRIu32, step, task);
    for (int i = 0; i < ATTACH_TRIES; i++) {
        if (attach_once(mount, job, name, pid, err) == 0)
            return 0;
        if (errno != ENOENT && errno != ENODEV)
            return -1;
    }
    return -1;
}

int hpcb_meter_group(const hpcb_node_t *node, uint32_t job_id, const char *place,
                     char *dir, size_t size, hpcb_error_t *err)
{
    const char *mount = unified(node, err);
    char path[PATH_MAX] = "";

    if (!mount)
        return -1;
    if (pure_v2(node) && place)
        snprintf(path, sizeof(path), "%s", place);
    else if (!pure_v2(node) && job_group(mount, job_id, path, sizeof(path), err) < 0)
        return -1;
    if (path[0] && hpcb_knob_exists(path, "cpu.stat"))
        return hpcb_text_copy(dir, size, path);
    errno = ENOENT;
    return hpcb_error(err, "job %" PRIu32 " has no group yet", job_id);
}

/* The number after key in text, 0 where there is none. */
static uint64_t number_after(const char *text, const char *key)
{
    const char *found = strstr(text, key);

    return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

/* Add what group dir has used.  No pressure file (PSI off) is no failure. */
static int add_group(const char *dir, hpcb_usage_t *usage, hpcb_error_t *err)
{
    char text[4096];

    if (hpcb_knob_read(dir, "cpu.stat", text, sizeof(text), err) < 0)
        return -1;
    usage->cpu_us += number_after(text, "usage_usec ");
    if (hpcb_knob_read(dir, "cpu.pressure", text, sizeof(text), NULL) == 0) {
        text[strcspn(text, "\n")] = '\0';
        usage->run_delay_us += number_after(text, "total=");
    }
    return 0;
}

/* Call visit for each task group of the job (none: no call). */
static int each_group(const char *job,
                      int (*visit)(const char *dir, const char *name, void *arg,
                                   hpcb_error_t *err),
                      void *arg, hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *handle = opendir(job);
    struct dirent *entry;
    int rc = 0;

    if (!handle)
        return errno == ENOENT ? 0 : hpcb_error(err, "%s: %s", job, strerror(errno));
    while ((entry = readdir(handle))) {
        char dir[PATH_MAX];

        if (entry->d_name[0] == '.' || !strchr(entry->d_name, '.') ||
            hpcb_knob_path(job, entry->d_name, dir, sizeof(dir), NULL) < 0 ||
            !hpcb_knob_exists(dir, "cpu.stat"))
            continue;
        if (visit(dir, entry->d_name, arg, rc ? NULL : err) < 0)
            rc = -1;
    }
    return rc;
}

static int visit_read(const char *dir, const char *name, void *arg, hpcb_error_t *err)
{
    (void)name;
    /* A group that is folded at this moment is none of ours any more. */
    return add_group(dir, arg, err) < 0 && !hpcb_knob_gone(errno) ? -1 : 0;
}

static uint64_t memory_peak(const hpcb_node_t *node, pid_t pid)
{
    bool v2 = hpcb_node_version(node, HPCB_CTL_MEMORY) == 2;
    char dir[PATH_MAX];
    uint64_t bytes;

    /* memory.peak came with Linux 5.19. */
    if (pid <= 0 ||
        hpcb_node_job_dir(node, pid, HPCB_CTL_MEMORY, dir, sizeof(dir), NULL) < 0 ||
        hpcb_knob_number(dir, v2 ? "memory.peak" : "memory.max_usage_in_bytes", &bytes,
                         NULL) < 0)
        return 0;
    return bytes;
}

int hpcb_meter_read_job(const char *dir, hpcb_usage_t *usage, hpcb_error_t *err)
{
    hpcb_usage_t found = {0};

    if (add_group(dir, &found, err) < 0)
        return -1;
    (void)hpcb_knob_number(dir, "memory.peak", &found.memory_peak, NULL);
    *usage = found;
    return 0;
}

int hpcb_meter_read(const hpcb_node_t *node, uint32_t job_id, pid_t pid,
                    hpcb_usage_t *usage, hpcb_usage_scope_t *scope, hpcb_error_t *err)
{
    const char *mount = unified(node, err);
    hpcb_usage_t sum = {0};
    char dir[PATH_MAX];
    int rc;

    if (!mount)
        return -1;
    if (pure_v2(node)) {
        if (hpcb_node_job_dir(node, pid, HPCB_CTL_UNIFIED, dir, sizeof(dir), err) < 0)
            return -1;
        rc = add_group(dir, &sum, err);
    } else {
        if (job_group(mount, job_id, dir, sizeof(dir), err) < 0)
            return -1;
        rc = each_group(dir, visit_read, &sum, err);
    }
    if (rc < 0)
        return -1;
    sum.memory_peak = memory_peak(node, pid);
    *usage = sum;
    *scope = pure_v2(node) ? HPCB_USAGE_JOB : HPCB_USAGE_STEP;
    return 0;
}

typedef struct {
    const char *step;
    hpcb_task_usage_t *tasks;
    size_t max, count;
} tasks_t;

static int visit_task(const char *dir, const char *name, void *arg, hpcb_error_t *err)
{
    tasks_t *list = arg;
    size_t length = strlen(list->step);
    hpcb_usage_t used = {0};
    hpcb_task_usage_t *task = &list->tasks[list->count];

    (void)err;
    if (list->count == list->max || strncmp(name, list->step, length) != 0 ||
        name[length] != '.' || add_group(dir, &used, NULL) < 0)
        return 0;
    *task = (hpcb_task_usage_t){.task = (uint32_t)strtoul(name + length + 1, NULL, 10),
                                .cpu_us = used.cpu_us,
                                .run_delay_us = used.run_delay_us};
    snprintf(task->step, sizeof(task->step), "%s", list->step);
    list->count++;
    return 0;
}

int hpcb_meter_tasks(const hpcb_node_t *node, uint32_t job_id, const char *step,
                     hpcb_task_usage_t *tasks, size_t max, size_t *count,
                     hpcb_error_t *err)
{
    tasks_t list = {.step = step, .tasks = tasks, .max = max};
    const char *mount;
    char job[PATH_MAX];

    *count = 0;
    if (pure_v2(node))
        return 0;
    mount = unified(node, err);
    if (!mount || check_step(step, err) < 0 ||
        job_group(mount, job_id, job, sizeof(job), err) < 0 ||
        each_group(job, visit_task, &list, err) < 0)
        return -1;
    *count = list.count;
    return 0;
}

typedef struct {
    const char *step;
    const char *mount;
    hpcb_usage_t sum;
} fold_t;

static void add_usage(hpcb_usage_t *usage, const hpcb_usage_t *more)
{
    usage->cpu_us += more->cpu_us;
    usage->run_delay_us += more->run_delay_us;
}

/* A reading only counts if the group can be removed: it was empty then, and is not read
 * a second time. */
static int visit_fold(const char *dir, const char *name, void *arg, hpcb_error_t *err)
{
    fold_t *fold = arg;
    size_t length = strlen(fold->step);
    hpcb_usage_t used = {0};

    if (strncmp(name, fold->step, length) != 0 || name[length] != '.')
        return 0;
    if (add_group(dir, &used, err) < 0)
        return -1;
    if (hpcb_knob_rmdir(dir, "", err) == 0)
        add_usage(&fold->sum, &used);
    else if (errno != EBUSY)
        return -1;
    return 0;
}

int hpcb_meter_fold_step(const hpcb_node_t *node, uint32_t job_id, const char *step,
                         hpcb_usage_t *usage, hpcb_error_t *err)
{
    fold_t fold = {.step = step};
    char job[PATH_MAX];
    int rc;

    if (pure_v2(node))
        return 0;
    fold.mount = unified(node, err);
    if (!fold.mount || check_step(step, err) < 0 ||
        job_group(fold.mount, job_id, job, sizeof(job), err) < 0)
        return -1;
    rc = each_group(job, visit_fold, &fold, err);
    add_usage(usage, &fold.sum);
    return rc;
}

static int visit_remove(const char *dir, const char *name, void *arg, hpcb_error_t *err)
{
    fold_t *fold = arg;

    (void)name;
    hpcb_tree_drain(dir, fold->mount, NULL);
    add_group(dir, &fold->sum, NULL);
    return hpcb_tree_remove(dir, fold->mount, err);
}

int hpcb_meter_remove(const hpcb_node_t *node, uint32_t job_id, hpcb_usage_t *usage,
                      hpcb_error_t *err)
{
    fold_t fold = {.step = ""};
    char job[PATH_MAX];
    int rc;

    if (pure_v2(node))
        return 0;
    fold.mount = unified(node, err);
    if (!fold.mount || job_group(fold.mount, job_id, job, sizeof(job), err) < 0)
        return -1;
    rc = each_group(job, visit_remove, &fold, err);
    add_usage(usage, &fold.sum);
    if (hpcb_tree_remove(job, fold.mount, rc ? NULL : err) < 0)
        rc = -1;
    hpcb_knob_rmdir(fold.mount, HPCB_UNIFIED_GROUP, NULL);
    return rc;
}
