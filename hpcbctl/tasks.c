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
#include <sys/stat.h>
#include <unistd.h>
#include "cgroup/groups.h"
#include "cgroup/knob.h"
#include "common/cleanup.h"
#include "common/state.h"
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
    hpcb_node_job_group(guest_cgroup, job_id, group, sizeof(group));
    return first_task(node, HPCB_CTL_CPU, group, count);
}

static pid_t metered_task(const hpcb_node_t *node, uint32_t job_id)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_UNIFIED);
    char name[64], dir[PATH_MAX], group[NAME_MAX + 80];
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    pid_t pid = 0;

    hpcb_node_job_group(HPCB_UNIFIED_GROUP, job_id, name, sizeof(name));
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

/* Names of jobs' directories that do not say the number: from Slurm 26.05 on, SLUIDs
 * (unless CgroupJobIdPaths=yes in cgroup.conf). */
typedef struct {
    char sluid[HPCB_SLUID_MAX];
    uint32_t job_id;
} name_t;

typedef struct {
    name_t *list;
    size_t count, room;
} names_t;

static void free_names(names_t *names)
{
    free(names->list);
}

static int keep_name(const hpcb_job_state_t *job, void *arg)
{
    names_t *names = arg;

    if (!*job->sluid)
        return 0;
    if (names->count == names->room) {
        size_t more = names->room ? names->room * 2 : 16;
        name_t *larger = reallocarray(names->list, more, sizeof(*larger));

        if (!larger)
            return -1;
        names->list = larger;
        names->room = more;
    }
    names->list[names->count].job_id = job->job_id;
    memcpy(names->list[names->count++].sluid, job->sluid, sizeof(job->sluid));
    return 0;
}

/* What cannot be read is a name that is not known. */
static void read_names(const hpcb_conf_t *conf, names_t *names)
{
    hpcb_error_t err;

    hpcb_state_each(conf->state_dir, keep_name, names, &err);
}

/* The job whose directory, as Slurm calls it, is the last component of dir; 0 where
 * nobody knows. */
static uint32_t job_of_dir(const names_t *names, const char *dir)
{
    const char *name = strrchr(dir, '/') + 1;
    uint64_t number;

    if (strncmp(name, "job_", 4) == 0 &&
        hpcb_text_u64(name + 4, UINT32_MAX, &number) == 0)
        return (uint32_t)number;
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i].sluid, name) == 0)
            return names->list[i].job_id;
    return 0;
}

static bool in_job(const hpcb_node_t *node, const names_t *names, pid_t pid,
                   uint32_t job_id)
{
    char dir[PATH_MAX];

    return hpcb_node_job_dir(node, pid, HPCB_CTL_UNIFIED, dir, sizeof(dir), NULL) ==
               0 &&
           job_of_dir(names, dir) == job_id;
}

/* Through /proc, because where Slurm keeps its directories is not for us to guess. */
static pid_t slurms_task(const hpcb_node_t *node, const hpcb_conf_t *conf,
                         uint32_t job_id)
{
    hpcb_autoclosedir DIR *proc = opendir("/proc");
    __attribute__((cleanup(free_names))) names_t names = {0};
    struct dirent *entry;

    read_names(conf, &names);
    while (proc && (entry = readdir(proc))) {
        uint64_t pid;

        if (hpcb_text_u64(entry->d_name, INT_MAX, &pid) == 0 &&
            in_job(node, &names, (pid_t)pid, job_id))
            return (pid_t)pid;
    }
    return 0;
}

pid_t hpcb_tasks_any(const hpcb_node_t *node, const hpcb_conf_t *conf, uint32_t job_id)
{
    size_t count;
    pid_t pid;

    if (hpcb_node_version(node, HPCB_CTL_CPU) == 2)
        return slurms_task(node, conf, job_id);
    pid = guest_task(node, conf->guest_cgroup, job_id, &count);
    return pid ? pid : metered_task(node, job_id);
}

/* The number of the last component "job_<number>" of path; 0 where there is none. */
static uint32_t job_in_path(const char *path)
{
    uint32_t job_id = 0;

    for (const char *at = path; (at = strstr(at, "/job_"));) {
        char digits[16];
        uint64_t number;

        at += strlen("/job_");
        snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(at, "/"), at);
        if (hpcb_text_u64(digits, UINT32_MAX, &number) == 0)
            job_id = (uint32_t)number;
    }
    return job_id;
}

/* The job of a process that is below <mount>/<group>. */
static uint32_t job_by_group(const hpcb_node_t *node, pid_t pid,
                             hpcb_controller_t controller, const char *group)
{
    const char *mount = hpcb_node_mount(node, controller);
    char prefix[PATH_MAX], dir[PATH_MAX];
    size_t length;

    if (!mount || hpcb_knob_path(mount, group, prefix, sizeof(prefix), NULL) < 0 ||
        hpcb_node_task_dir(node, pid, controller, dir, sizeof(dir), NULL) < 0)
        return 0;
    length = strlen(prefix);
    return strncmp(dir, prefix, length) == 0 ? job_in_path(dir + length) : 0;
}

/* On v1 each controller that Slurm is told to use has the directory. */
static uint32_t job_by_slurm(const hpcb_node_t *node, const names_t *names, pid_t pid)
{
    static const hpcb_controller_t where[] = {HPCB_CTL_FREEZER, HPCB_CTL_MEMORY,
                                              HPCB_CTL_CPUSET, HPCB_CTL_UNIFIED};
    char dir[PATH_MAX];

    for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++)
        if (hpcb_node_job_dir(node, pid, where[i], dir, sizeof(dir), NULL) == 0)
            return job_of_dir(names, dir);
    return 0;
}

/* A program of root's called slurmstepd (slurmstepd-wlm in Debian): a user can take the
 * name, not the owner.  What cannot be looked at (the caller is not root) counts as a
 * task. */
static bool is_stepd(pid_t pid)
{
    char link[64], exe[PATH_MAX];
    const char *slash;
    struct stat st;
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    n = readlink(link, exe, sizeof(exe) - 1);
    if (n <= 0 || stat(link, &st) < 0 || st.st_uid != 0)
        return false;
    exe[n] = '\0';
    slash = strrchr(exe, '/');
    return slash && strncmp(slash + 1, "slurmstepd", strlen("slurmstepd")) == 0;
}

static uint32_t job_of_task(const hpcb_node_t *node, const char *guest_cgroup,
                            const names_t *names, pid_t pid)
{
    uint32_t job_id = job_by_group(node, pid, HPCB_CTL_UNIFIED, HPCB_UNIFIED_GROUP);

    if (job_id == 0 && hpcb_node_version(node, HPCB_CTL_CPU) == 1)
        job_id = job_by_group(node, pid, HPCB_CTL_CPU, guest_cgroup);
    if (job_id == 0)
        job_id = job_by_slurm(node, names, pid);
    return job_id && !is_stepd(pid) ? job_id : 0;
}

static int by_job(const void *a, const void *b)
{
    const hpcb_task_t *left = a, *right = b;

    if (left->job_id != right->job_id)
        return left->job_id < right->job_id ? -1 : 1;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

static int keep_task(hpcb_task_t **tasks, size_t *count, size_t *room, hpcb_task_t task)
{
    if (*count == *room) {
        size_t more = *room ? *room * 2 : 64;
        hpcb_task_t *larger = reallocarray(*tasks, more, sizeof(*larger));

        if (!larger)
            return -1;
        *tasks = larger;
        *room = more;
    }
    (*tasks)[(*count)++] = task;
    return 0;
}

int hpcb_tasks_scan(const hpcb_node_t *node, const hpcb_conf_t *conf,
                    hpcb_task_t **tasks, size_t *count, hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *proc = opendir("/proc");
    __attribute__((cleanup(free_names))) names_t names = {0};
    hpcb_autofree hpcb_task_t *found = NULL;
    size_t n = 0, room = 0;
    struct dirent *entry;

    if (!proc)
        return hpcb_error(err, "/proc: %s", strerror(errno));
    read_names(conf, &names);
    while ((entry = readdir(proc))) {
        hpcb_task_t task;
        uint64_t pid;

        if (hpcb_text_u64(entry->d_name, INT_MAX, &pid) || pid == 0)
            continue;
        task.pid = (pid_t)pid;
        task.job_id = job_of_task(node, conf->guest_cgroup, &names, task.pid);
        if (task.job_id && keep_task(&found, &n, &room, task))
            return hpcb_error(err, "out of memory");
    }
    if (n > 0)
        qsort(found, n, sizeof(*found), by_job);
    *tasks = found;
    *count = n;
    found = NULL;
    return 0;
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
    collect(hpcb_node_mount(node, HPCB_CTL_CPU), conf->guest_cgroup, "guest_", list,
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
