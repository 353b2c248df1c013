/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cgroup/knob.h"
#include "cgroup/steps.h"
#include "cgroup/task.h"
#include "common/cleanup.h"

#define DEPTH_MAX 8   /* step_N/user/task_N is 3; a job of root's may make more */
#define BOUND_MAX 256 /* all tasks of a step are bound to CPUs of the job */

typedef struct {
    hpcb_process_visit_t visit;
    void *arg;
    unsigned count;
} walk_t;

typedef enum { ALL, STEPS, SHELLS } which_t;

int hpcb_steps_job(const hpcb_node_t *node, pid_t pid, char *dir, size_t size,
                   hpcb_error_t *err)
{
    return hpcb_node_job_dir(node, pid, HPCB_CTL_FREEZER, dir, size, err);
}

bool hpcb_steps_is_extern(const hpcb_node_t *node, pid_t pid)
{
    char job[PATH_MAX], dir[PATH_MAX];

    return hpcb_steps_job(node, pid, job, sizeof(job), NULL) == 0 &&
           hpcb_node_task_dir(node, pid, HPCB_CTL_FREEZER, dir, sizeof(dir), NULL) ==
               0 &&
           strncmp(dir + strlen(job), "/step_extern", strlen("/step_extern")) == 0;
}

/* The kind in the directory entry saves a call for each of a group's files; some file
 * systems have none. */
static bool is_dir(const struct dirent *entry, const char *path)
{
    struct stat status;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The next directory in handle whose name begins with prefix; its path. */
static const char *next_dir(DIR *handle, const char *dir, const char *prefix,
                            char *path, size_t size)
{
    struct dirent *entry;

    while (handle && (entry = readdir(handle))) {
        if (entry->d_name[0] != '.' &&
            strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            hpcb_knob_path(dir, entry->d_name, path, size, NULL) == 0 &&
            is_dir(entry, path))
            return entry->d_name;
    }
    return NULL;
}

/* No list: the group has gone, or it is a threaded one, whose processes the domain
 * above lists. */
static int group(const char *dir, walk_t *walk)
{
    hpcb_autofree char *text = hpcb_knob_read_all(dir, "cgroup.procs", NULL);
    char *save = NULL;
    int rc = 0;

    if (!text)
        return hpcb_knob_gone(errno) || errno == EOPNOTSUPP ? 0 : -1;
    for (char *pid = strtok_r(text, "\n", &save); pid && rc == 0;
         pid = strtok_r(NULL, "\n", &save)) {
        walk->count++;
        rc = walk->visit((pid_t)atoi(pid), walk->arg);
    }
    return rc;
}

static int tree(const char *dir, int depth, walk_t *walk)
{
    hpcb_autoclosedir DIR *handle = depth < DEPTH_MAX ? opendir(dir) : NULL;
    char child[PATH_MAX];
    int rc = group(dir, walk);

    while (rc == 0 && next_dir(handle, dir, "", child, sizeof(child)))
        rc = tree(child, depth + 1, walk);
    return rc;
}

static bool wanted(const char *step, which_t which)
{
    bool shell =
        strcmp(step, "step_batch") == 0 || strcmp(step, "step_interactive") == 0;

    if (which == ALL)
        return true;
    return strcmp(step, "step_extern") != 0 && shell == (which == SHELLS);
}

static int steps(const hpcb_node_t *node, const char *dir, which_t which, walk_t *walk)
{
    bool v2 = hpcb_node_version(node, HPCB_CTL_FREEZER) == 2;
    hpcb_autoclosedir DIR *handle = opendir(dir);
    char step[PATH_MAX], user[PATH_MAX];
    const char *name;
    int rc = 0;

    if (!handle)
        return -1;
    while (rc == 0 && (name = next_dir(handle, dir, "step_", step, sizeof(step)))) {
        if (wanted(name, which) &&
            hpcb_knob_path(step, v2 ? "user" : "", user, sizeof(user), NULL) == 0)
            rc = tree(user, 0, walk);
    }
    return rc;
}

int hpcb_steps_each(const hpcb_node_t *node, const char *dir,
                    hpcb_process_visit_t visit, void *arg)
{
    walk_t walk = {visit, arg, 0};

    return steps(node, dir, ALL, &walk);
}

int hpcb_steps_busy(const hpcb_node_t *node, const char *dir,
                    hpcb_process_visit_t visit, void *arg)
{
    walk_t walk = {visit, arg, 0};
    int rc = steps(node, dir, STEPS, &walk);

    return rc || walk.count ? rc : steps(node, dir, SHELLS, &walk);
}

int hpcb_steps_daemons(const hpcb_node_t *node, const char *dir,
                       hpcb_process_visit_t visit, void *arg)
{
    walk_t walk = {visit, arg, 0};
    hpcb_autoclosedir DIR *handle = NULL;
    char step[PATH_MAX], slurm[PATH_MAX];
    int rc = 0;

    if (hpcb_node_version(node, HPCB_CTL_FREEZER) != 2)
        return group(dir, &walk);
    handle = opendir(dir);
    while (rc == 0 && next_dir(handle, dir, "step_", step, sizeof(step))) {
        if (hpcb_knob_path(step, "slurm", slurm, sizeof(slurm), NULL) == 0)
            rc = group(slurm, &walk);
    }
    return rc;
}

/* Get the job's directory in the hierarchy of cpusets, which on v1 has the same path as
 * in that of the freezer. */
static int cpuset_dir(const hpcb_node_t *node, const char *dir, char *path)
{
    const char *cpuset = hpcb_node_mount(node, HPCB_CTL_CPUSET);
    const char *freezer = hpcb_node_mount(node, HPCB_CTL_FREEZER);
    size_t length = freezer ? strlen(freezer) : 0;

    if (!cpuset || !length || strncmp(dir, freezer, length) != 0 ||
        dir[length] != '/') {
        errno = ENOENT;
        return -1;
    }
    return hpcb_knob_path(cpuset, dir + length + 1, path, PATH_MAX, NULL);
}

int hpcb_steps_cpus(const hpcb_node_t *node, const char *dir, hpcb_cpus_t *cpus)
{
    static const char *const names[] = {"cpuset.cpus.effective",
                                        "cpuset.effective_cpus", "cpuset.cpus"};
    char path[PATH_MAX], list[4096];
    hpcb_cpus_t read;

    if (cpuset_dir(node, dir, path) < 0)
        return -1;
    /* v2 has the controller there anyway, unwritten. */
    if (hpcb_knob_read(path, "cpuset.cpus", list, sizeof(list), NULL) == 0 &&
        !list[0]) {
        errno = ENOENT;
        return -1;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (hpcb_knob_read(path, names[i], list, sizeof(list), NULL) < 0 || !list[0] ||
            hpcb_cpus_parse(list, &read) < 0)
            continue;
        *cpus = read;
        return 0;
    }
    errno = ENOENT;
    return -1;
}

typedef struct {
    hpcb_cpus_t *cpus;
    unsigned processes;
} affinity_t;

static int add_affinity(pid_t pid, void *arg)
{
    affinity_t *affinity = arg;
    hpcb_cpus_t cpus;

    if (hpcb_task_cpus(pid, &cpus, NULL) == 0)
        hpcb_cpus_join(affinity->cpus, &cpus);
    return ++affinity->processes == BOUND_MAX;
}

unsigned hpcb_steps_bound(const hpcb_node_t *node, const char *dir, hpcb_cpus_t *cpus)
{
    affinity_t affinity = {.cpus = cpus};

    *cpus = (hpcb_cpus_t){{0}};
    hpcb_steps_busy(node, dir, add_affinity, &affinity);
    return affinity.processes;
}

static int jobs_in(const char *dir, int (*visit)(const char *job, void *arg), void *arg)
{
    hpcb_autoclosedir DIR *handle = opendir(dir);
    char job[PATH_MAX];
    int rc = 0;

    while (rc == 0 && next_dir(handle, dir, "", job, sizeof(job)))
        rc = visit(job, arg);
    return rc;
}

/* v1: .../slurm/uid_<U>/job_<N>; v2: .../slurmstepd.scope/<job>. */
int hpcb_steps_jobs(const hpcb_node_t *node, const char *dir,
                    int (*visit)(const char *job, void *arg), void *arg)
{
    hpcb_autoclosedir DIR *handle = NULL;
    char above[PATH_MAX], user[PATH_MAX];
    int rc = 0;

    if (strlen(dir) >= sizeof(above) || !strchr(dir, '/'))
        return -1;
    strcpy(above, dir);
    *strrchr(above, '/') = '\0';
    if (hpcb_node_version(node, HPCB_CTL_FREEZER) == 2)
        return jobs_in(above, visit, arg);
    if (!strchr(above, '/'))
        return -1;
    *strrchr(above, '/') = '\0';
    handle = opendir(above);
    while (rc == 0 && next_dir(handle, above, "uid_", user, sizeof(user)))
        rc = jobs_in(user, visit, arg);
    return rc;
}
