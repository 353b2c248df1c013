/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/groups.h"
#include "cgroup/knob.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "hpcbctl/tasks.h"

#define JOBS_MAX 65536

/* The first process of group, 0 where there is none; *count (may be NULL) of them. */
static pid_t first_task(const hpcb_node_t *node, hpcb_controller_t controller,
                        const char *group, size_t *count)
{
    hpcb_autofree pid_t *pids = NULL;
    size_t n = 0;

    if (!hpcb_group_exists(node, controller, group) ||
        hpcb_group_tasks(node, controller, group, &pids, &n, NULL) < 0)
        n = 0;
    if (count)
        *count = n;
    return n > 0 ? pids[0] : 0;
}

static pid_t guest_task(const hpcb_node_t *node, const char *guest_cgroup,
                        uint32_t job_id, size_t *count)
{
    char group[PATH_MAX];

    *count = 0;
    if (hpcb_node_version(node, HPCB_CTL_CPU) != 1)
        return 0;
    snprintf(group, sizeof(group), "%s/job_%" PRIu32, guest_cgroup, job_id);
    return first_task(node, HPCB_CTL_CPU, group, count);
}

static pid_t metered_task(const hpcb_node_t *node, uint32_t job_id)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_UNIFIED);
    char name[64], dir[PATH_MAX], group[NAME_MAX + 80];
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    pid_t pid = 0;

    snprintf(name, sizeof(name), HPCB_UNIFIED_GROUP "/job_%" PRIu32, job_id);
    if (mount && hpcb_knob_path(mount, name, dir, sizeof(dir), NULL) == 0)
        handle = opendir(dir);
    while (handle && pid == 0 && (entry = readdir(handle))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(group, sizeof(group), "%s/%s", name, entry->d_name);
        pid = first_task(node, HPCB_CTL_UNIFIED, group, NULL);
    }
    return pid;
}

static bool in_job(const hpcb_node_t *node, pid_t pid, const char *job)
{
    char dir[PATH_MAX];

    return hpcb_node_job_dir(node, pid, HPCB_CTL_UNIFIED, dir, sizeof(dir), NULL) ==
               0 &&
           strcmp(strrchr(dir, '/') + 1, job) == 0;
}

/* Through /proc, because where Slurm keeps its directories is not for us to guess. */
static pid_t slurms_task(const hpcb_node_t *node, uint32_t job_id)
{
    hpcb_autoclosedir DIR *proc = opendir("/proc");
    struct dirent *entry;
    char job[32];

    snprintf(job, sizeof(job), "job_%" PRIu32, job_id);
    while (proc && (entry = readdir(proc))) {
        uint64_t pid;

        if (hpcb_text_u64(entry->d_name, INT_MAX, &pid) == 0 &&
            in_job(node, (pid_t)pid, job))
            return (pid_t)pid;
    }
    return 0;
}

pid_t hpcb_tasks_any(const hpcb_node_t *node, const char *guest_cgroup, uint32_t job_id)
{
    size_t count;
    pid_t pid;

    if (hpcb_node_version(node, HPCB_CTL_CPU) == 2)
        return slurms_task(node, job_id);
    pid = guest_task(node, guest_cgroup, job_id, &count);
    return pid ? pid : metered_task(node, job_id);
}

size_t hpcb_tasks_guest(const hpcb_node_t *node, const char *guest_cgroup,
                        uint32_t job_id)
{
    size_t count;

    guest_task(node, guest_cgroup, job_id, &count);
    return count;
}

/* The number after prefix at the start of name, followed by nothing or a dot; else 0.
 */
static uint32_t job_of(const char *name, const char *prefix)
{
    size_t skip = strlen(prefix);
    char digits[16];
    uint64_t id;
    int n;

    if (strncmp(name, prefix, skip) != 0)
        return 0;
    n = snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(name + skip, "."),
                 name + skip);
    if (n >= (int)sizeof(digits) || hpcb_text_u64(digits, UINT32_MAX, &id) < 0)
        return 0;
    return (uint32_t)id;
}

static void collect(const char *above, const char *name, const char *prefix,
                    uint32_t *ids, size_t *count)
{
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    char dir[PATH_MAX];

    if (above && hpcb_knob_path(above, name, dir, sizeof(dir), NULL) == 0)
        handle = opendir(dir);
    while (handle && *count < JOBS_MAX && (entry = readdir(handle))) {
        uint32_t id = job_of(entry->d_name, prefix);

        if (id)
            ids[(*count)++] = id;
    }
}

static int by_id(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

int hpcb_tasks_jobs(const hpcb_node_t *node, const hpcb_conf_t *conf, uint32_t **ids,
                    size_t *count, hpcb_error_t *err)
{
    uint32_t *list = calloc(JOBS_MAX, sizeof(*list));
    size_t found = 0, kept = 0;

    if (!list)
        return hpcb_error(err, "out of memory");
    collect(conf->state_dir, "jobs", "", list, &found);
    if (hpcb_node_version(node, HPCB_CTL_CPU) == 1)
        collect(hpcb_node_mount(node, HPCB_CTL_CPU), conf->guest_cgroup, "job_", list,
                &found);
    collect(hpcb_node_mount(node, HPCB_CTL_UNIFIED), HPCB_UNIFIED_GROUP, "job_", list,
            &found);
    qsort(list, found, sizeof(*list), by_id);
    for (size_t i = 0; i < found; i++) {
        if (i == 0 || list[i] != list[i - 1])
            list[kept++] = list[i];
    }
    *ids = list;
    *count = kept;
    return 0;
}
