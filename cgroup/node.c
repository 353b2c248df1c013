/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Overview.  hpcb_node_open reads mountinfo once and remembers for each controller
 * which mount shows it: the version, the mount point, and the directory of the
 * hierarchy at which that mount begins.  Paths of tasks are read each time, because
 * tasks move; cgroup/parse.c takes the texts apart.
 *
 * Which mount, when a hierarchy is mounted more than once: one that nothing is mounted
 * over, that can be reached (it shows cgroup.procs), and preferably one that begins at
 * the hierarchy's root as the caller sees it.
 *
 * In a cgroup namespace both mountinfo and /proc/PID/cgroup are relative to the
 * namespace's own group: a mount made outside begins at "/.." (or deeper), and the
 * path of a task outside begins with "/..".  The one is stripped from the other as
 * text; what then still goes upwards is refused.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/knob.h"
#include "cgroup/node.h"
#include "cgroup/parse.h"
#include "common/cleanup.h"
#include "common/text.h"

int hpcb_node_job_group(const char *group, uint32_t job_id, char *name, size_t size)
{
    int n = snprintf(name, size, "%s/job_%" PRIu32, group, job_id);

    return n < 0 || (size_t)n >= size ? -1 : 0;
}

typedef struct {
    int version;
    char point[PATH_MAX]; /* root of the node included */
    char root[PATH_MAX];  /* root of the mount in the hierarchy */
} mount_t;

struct hpcb_node {
    char root[PATH_MAX]; /* "" for the running system */
    mount_t mounts[HPCB_CTL_COUNT];
};

static const char *const names[HPCB_CTL_COUNT][2] = {
    [HPCB_CTL_CPU] = {"cpu", "cpu"},          [HPCB_CTL_CPUACCT] = {"cpuacct", NULL},
    [HPCB_CTL_CPUSET] = {"cpuset", "cpuset"}, [HPCB_CTL_MEMORY] = {"memory", "memory"},
    [HPCB_CTL_FREEZER] = {"freezer", NULL},   [HPCB_CTL_IO] = {"blkio", "io"},
    [HPCB_CTL_UNIFIED] = {NULL, "cgroup2"},
};

/* Split text into mounts, at most one a line; the caller frees the array. */
static hpcb_mount_line_t *split_mounts(char *text, size_t *count)
{
    hpcb_mount_line_t *all;
    size_t lines = 1;
    char *save = NULL;

    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    all = calloc(lines, sizeof(*all));
    *count = 0;
    if (!all)
        return NULL;
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (hpcb_parse_mount(line, &all[*count]) == 0)
            (*count)++;
    }
    return all;
}

/* Something is mounted on the very same directory, on top of it. */
static bool covered(const hpcb_mount_line_t *all, size_t count,
                    const hpcb_mount_line_t *mount)
{
    for (size_t i = 0; i < count; i++) {
        if (all[i].parent == mount->id && strcmp(all[i].point, mount->point) == 0)
            return true;
    }
    return false;
}

static void take_mount(mount_t *slot, const mount_t *found)
{
    bool better = strcmp(slot->root, "/") != 0 && strcmp(found->root, "/") == 0;

    if (!slot->version || better)
        *slot = *found;
}

static void take_v1(hpcb_node_t *node, const mount_t *found, const char *super)
{
    for (int c = 0; c < HPCB_CTL_COUNT; c++) {
        if (names[c][0] && hpcb_parse_word(super, strlen(super), names[c][0]))
            take_mount(&node->mounts[c], found);
    }
}

static void take_line(hpcb_node_t *node, const hpcb_mount_line_t *line)
{
    mount_t found = {.version = strcmp(line->fstype, "cgroup2") == 0 ? 2 : 1};
    int n = snprintf(found.point, sizeof(found.point), "%s%s", node->root, line->point);

    if (n < 0 || (size_t)n >= sizeof(found.point) ||
        strlen(line->root) >= sizeof(found.root) ||
        !hpcb_knob_exists(found.point, "cgroup.procs"))
        return;
    strcpy(found.root, line->root);
    if (found.version == 2)
        take_mount(&node->mounts[HPCB_CTL_UNIFIED], &found);
    else
        take_v1(node, &found, line->super);
}

/* A controller without a v1 hierarchy is in the cgroup2 mount that lists it. */
static void take_v2_controllers(hpcb_node_t *node)
{
    const mount_t *unified = &node->mounts[HPCB_CTL_UNIFIED];
    char list[512];

    if (unified->version != 2)
        return;
    if (node->mounts[HPCB_CTL_FREEZER].version == 0)
        node->mounts[HPCB_CTL_FREEZER] = *unified;
    if (hpcb_knob_read(unified->point, "cgroup.controllers", list, sizeof(list), NULL))
        return;
    for (char *p = list; *p; p++) {
        if (*p == ' ')
            *p = ',';
    }
    for (int c = 0; c < HPCB_CTL_UNIFIED; c++) {
        if (names[c][1] && node->mounts[c].version == 0 &&
            hpcb_parse_word(list, strlen(list), names[c][1]))
            node->mounts[c] = *unified;
    }
}

static int read_mounts(hpcb_node_t *node, hpcb_error_t *err)
{
    static const char name[] = "proc/self/mountinfo";
    hpcb_autofree char *text = hpcb_knob_read_all(node->root, name, err);
    hpcb_mount_line_t *all;
    size_t count;

    if (!text)
        return -1;
    all = split_mounts(text, &count);
    for (size_t i = 0; all && i < count; i++) {
        bool cgroup = strcmp(all[i].fstype, "cgroup") == 0 ||
                      strcmp(all[i].fstype, "cgroup2") == 0;

        if (cgroup && !covered(all, count, &all[i]))
            take_line(node, &all[i]);
    }
    take_v2_controllers(node);
    if (!all)
        return hpcb_error(err, "%s/%s: out of memory", node->root, name);
    free(all);
    return 0;
}

int hpcb_node_open(const char *root, hpcb_node_t **node, hpcb_error_t *err)
{
    hpcb_node_t *made = calloc(1, sizeof(*made));
    size_t length = strlen(root);

    if (!made)
        return hpcb_error(err, "out of memory");
    while (length > 0 && root[length - 1] == '/')
        length--;
    if (length >= sizeof(made->root)) {
        free(made);
        errno = ENAMETOOLONG;
        return hpcb_error(err, "%s: path too long", root);
    }
    memcpy(made->root, root, length);
    if (read_mounts(made, err) < 0) {
        free(made);
        return -1;
    }
    *node = made;
    return 0;
}

void hpcb_node_close(hpcb_node_t *node)
{
    free(node);
}

bool hpcb_node_live(const hpcb_node_t *node)
{
    return node->root[0] == '\0';
}

int hpcb_node_version(const hpcb_node_t *node, hpcb_controller_t controller)
{
    return node->mounts[controller].version;
}

const char *hpcb_node_mount(const hpcb_node_t *node, hpcb_controller_t controller)
{
    const mount_t *mount = &node->mounts[controller];

    return mount->version ? mount->point : NULL;
}

const char *hpcb_node_controller_name(hpcb_controller_t controller, int version)
{
    const char *name = names[controller][version == 1 ? 0 : 1];

    return name ? name : names[controller][version == 1 ? 1 : 0];
}

int hpcb_node_threads(const hpcb_node_t *node, pid_t pid,
                      int (*visit)(pid_t tid, void *arg), void *arg)
{
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    char name[64], dir[PATH_MAX];
    int rc = 0;

    snprintf(name, sizeof(name), "proc/%d/task", (int)pid);
    if (hpcb_knob_path(node->root, name, dir, sizeof(dir), NULL) < 0)
        return 0;
    handle = opendir(dir);
    for (int n = 0;
         rc == 0 && n < HPCB_NODE_THREADS_MAX && handle && (entry = readdir(handle));) {
        uint64_t tid;

        if (hpcb_text_u64(entry->d_name, INT32_MAX, &tid) < 0 || (pid_t)tid == pid)
            continue;
        n++;
        rc = visit((pid_t)tid, arg);
    }
    return rc;
}

/* The group that file (of /proc) names for the controller. */
static int read_group(const hpcb_node_t *node, const char *file,
                      hpcb_controller_t controller, char path[PATH_MAX],
                      hpcb_error_t *err)
{
    int version = node->mounts[controller].version;
    const char *name = hpcb_node_controller_name(controller, version);
    hpcb_autofree char *text = hpcb_knob_read_all(node->root, file, err);

    if (!text)
        return -1;
    if (hpcb_parse_cgroup(text, version == 1 ? name : NULL, path, PATH_MAX) == 0)
        return 0;
    return hpcb_error(err, "%s/%s: no usable line for %s", node->root, file, name);
}

typedef struct {
    const hpcb_node_t *node;
    pid_t pid;
    hpcb_controller_t controller;
    char *path; /* PATH_MAX */
} search_t;

static int ask_thread(pid_t tid, void *arg)
{
    const search_t *search = arg;
    char file[64], path[PATH_MAX];

    snprintf(file, sizeof(file), "proc/%d/task/%d/cgroup", (int)search->pid, (int)tid);
    if (read_group(search->node, file, search->controller, path, NULL) < 0 ||
        strcmp(path, "/") == 0)
        return 0;
    strcpy(search->path, path);
    return 1;
}

static bool is_zombie(const hpcb_node_t *node, pid_t pid)
{
    char file[64], text[1024];
    const char *state;

    snprintf(file, sizeof(file), "proc/%d/stat", (int)pid);
    if (hpcb_knob_read(node->root, file, text, sizeof(text), NULL) < 0)
        return false;
    /* Behind the command's name, which may hold anything. */
    state = strrchr(text, ')');
    return state && strncmp(state, ") Z", 3) == 0;
}

/* The task's path below the controller's mount.  v1 shows "/" for every zombie, which a
 * main thread is that has called pthread_exit: the others are where the process is. */
static int task_path(const hpcb_node_t *node, pid_t pid, hpcb_controller_t controller,
                     char *rest, size_t size, hpcb_error_t *err)
{
    const mount_t *mount = &node->mounts[controller];
    const char *name = hpcb_node_controller_name(controller, mount->version);
    char file[64], path[PATH_MAX];
    search_t search = {node, pid, controller, path};

    if (!mount->version) {
        errno = ENOENT;
        return hpcb_error(err, "no cgroup hierarchy with %s is mounted", name);
    }
    snprintf(file, sizeof(file), "proc/%d/cgroup", (int)pid);
    if (read_group(node, file, controller, path, err) < 0)
        return -1;
    if (mount->version == 1 && strcmp(path, "/") == 0 && is_zombie(node, pid))
        hpcb_node_threads(node, pid, ask_thread, &search);
    if (hpcb_parse_below(mount->root, path, rest, size) < 0)
        return hpcb_error(err, "task %d is in %s group %s, which %s does not show",
                          (int)pid, name, path, mount->point);
    return 0;
}

static int join(const hpcb_node_t *node, hpcb_controller_t controller, const char *rest,
                size_t length, char *dir, size_t size, hpcb_error_t *err)
{
    const char *point = node->mounts[controller].point;

    if (strlen(point) + length >= size) {
        errno = ENAMETOOLONG;
        return hpcb_error(err, "%s%s: path too long", point, rest);
    }
    snprintf(dir, size, "%s%.*s", point, (int)length, rest);
    return 0;
}

int hpcb_node_task_dir(const hpcb_node_t *node, pid_t pid, hpcb_controller_t controller,
                       char *dir, size_t size, hpcb_error_t *err)
{
    char rest[PATH_MAX];

    if (task_path(node, pid, controller, rest, sizeof(rest), err) < 0)
        return -1;
    return join(node, controller, rest, strlen(rest), dir, size, err);
}

int hpcb_node_job_dir(const hpcb_node_t *node, pid_t pid, hpcb_controller_t controller,
                      char *dir, size_t size, hpcb_error_t *err)
{
    char rest[PATH_MAX];
    size_t length;

    if (task_path(node, pid, controller, rest, sizeof(rest), err) < 0)
        return -1;
    length = hpcb_parse_job(rest, node->mounts[controller].version);
    if (length == 0) {
        int version = node->mounts[controller].version;

        errno = ENOENT;
        return hpcb_error(
            err, "task %d is in %s group \"%s\", which is no job of Slurm's", (int)pid,
            hpcb_node_controller_name(controller, version), rest);
    }
    return join(node, controller, rest, length, dir, size, err);
}

int hpcb_node_read(const hpcb_node_t *node, const char *name, char *text, size_t size,
                   hpcb_error_t *err)
{
    return hpcb_knob_read(node->root, name, text, size, err);
}

int hpcb_node_path(const hpcb_node_t *node, const char *name, char *path, size_t size,
                   hpcb_error_t *err)
{
    return hpcb_knob_path(node->root, name, path, size, err);
}

static bool reads(const hpcb_node_t *node, const char *name, const char *value)
{
    char text[128];

    return hpcb_knob_read(node->root, name, text, sizeof(text), NULL) == 0 &&
           strcmp(text, value) == 0;
}

bool hpcb_node_autogroup(const hpcb_node_t *node)
{
    return reads(node, "proc/sys/kernel/sched_autogroup_enabled", "1");
}

bool hpcb_node_sched_ext(const hpcb_node_t *node)
{
    return reads(node, "sys/kernel/sched_ext/state", "enabled");
}

/*
 * Inside a cgroup namespace a child is shown as "/".  The files distinguish them:
 * release_agent exists only in a v1 root (CFTYPE_ONLY_ON_ROOT), cgroup.type only below
 * a v2 root (CFTYPE_NOT_ON_ROOT).
 */
bool hpcb_node_root_group(const hpcb_node_t *node, hpcb_controller_t controller)
{
    const mount_t *mount = &node->mounts[controller];

    if (mount->version == 1)
        return hpcb_knob_exists(mount->point, "release_agent");
    return mount->version == 2 && !hpcb_knob_exists(mount->point, "cgroup.type");
}

bool hpcb_node_linux(const hpcb_node_t *node, int major, int minor)
{
    char text[128];
    int found_major, found_minor;

    if (hpcb_knob_read(node->root, "proc/sys/kernel/osrelease", text, sizeof(text),
                       NULL))
        return false;
    if (sscanf(text, "%d.%d", &found_major, &found_minor) != 2)
        return false;
    return found_major > major || (found_major == major && found_minor >= minor);
}
