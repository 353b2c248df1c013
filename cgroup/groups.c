/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Defects of libcgroup 2.0.2 (Debian 12) and 3.1, and workarounds:
 *  - It takes the first mount of a controller in /proc/mounts, and knows no other: it
 *    is only used if that is the mount that cgroup/node.c chose.
 *  - It knows no cgroup2 mount without controllers: it is never used for UNIFIED.
 *  - A recursive deletion may leave groups behind if tasks fork meanwhile: we remove
 *    the rest.
 */
#include "config.h"

#include <errno.h>
#include <libcgroup.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cgroup/groups.h"
#include "cgroup/knob.h"
#include "cgroup/plain.h"
#include "cgroup/tree.h"
#include "common/cleanup.h"

#define NAP_FIRST_NS 1000000 /* doubled each time: 0.25 s in all */
#define NAP_LAST_NS  128000000

typedef struct cgroup *cgroup_ptr_t;

static void release_cgroup(cgroup_ptr_t *group)
{
    int saved = errno;

    if (*group)
        cgroup_free(group);
    errno = saved;
}

#define auto_cgroup __attribute__((cleanup(release_cgroup)))

static int library_error(hpcb_error_t *err, const char *what, const char *group,
                         int code)
{
    errno = code == ECGOTHER ? cgroup_get_last_errno() : EIO;
    return hpcb_error(err, "cannot %s group %s: %s", what, group,
                      cgroup_strerror(code));
}

/* "", "a//b", "../b" and the like never reach a file system. */
static int check_group(const char *group, hpcb_error_t *err)
{
    const char *p = group;

    do {
        size_t n = strcspn(p, "/");

        if (n == 0 || p[0] == '.') {
            errno = EINVAL;
            return hpcb_error(err, "\"%s\" is no group", group);
        }
        p += n;
    } while (*p++ == '/');
    return 0;
}

static int group_dir(const hpcb_node_t *node, hpcb_controller_t controller,
                     const char *group, char *dir, size_t size, hpcb_error_t *err)
{
    const char *mount = hpcb_node_mount(node, controller);

    if (!mount) {
        errno = ENOENT;
        return hpcb_error(err, "no cgroup hierarchy with %s is mounted",
                          hpcb_node_controller_name(controller, 1));
    }
    if (check_group(group, err) < 0)
        return -1;
    return hpcb_knob_path(mount, group, dir, size, err);
}

/* Return libcgroup's name of the controller if libcgroup can be used, otherwise
 * NULL. */
static const char *library_name(const hpcb_node_t *node, hpcb_controller_t controller)
{
    const char *name =
        hpcb_node_controller_name(controller, hpcb_node_version(node, controller));
    const char *mount = hpcb_node_mount(node, controller);
    hpcb_autofree char *theirs = NULL;

    if (!hpcb_node_live(node) || controller == HPCB_CTL_UNIFIED || cgroup_init() != 0)
        return NULL;
    if (cgroup_get_subsys_mount_point(name, &theirs) != 0 || !mount ||
        strcmp(theirs, mount) != 0)
        return NULL;
    return name;
}

/* Plain files stand in for the kernel while a snapshot is changed. */
static const hpcb_knob_ops_t *enter(const hpcb_node_t *node)
{
    return hpcb_node_live(node) ? NULL : hpcb_knob_set_ops(&hpcb_plain_ops);
}

static void leave(const hpcb_node_t *node, const hpcb_knob_ops_t *before)
{
    if (!hpcb_node_live(node))
        hpcb_knob_set_ops(before);
}

bool hpcb_group_exists(const hpcb_node_t *node, hpcb_controller_t controller,
                       const char *group)
{
    char dir[PATH_MAX];

    return group_dir(node, controller, group, dir, sizeof(dir), NULL) == 0 &&
           hpcb_knob_exists(dir, "cgroup.procs");
}

static int by_number(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

    return (left > right) - (left < right);
}

static int read_procs(const char *dir, pid_t **pids, size_t *count, hpcb_error_t *err)
{
    hpcb_autofree char *text = hpcb_knob_read_all(dir, "cgroup.procs", err);
    char *save = NULL;
    size_t used = 0, lines = 1;
    pid_t *list;

    if (!text)
        return -1;
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    list = calloc(lines, sizeof(*list));
    if (!list)
        return hpcb_error(err, "%s: out of memory", dir);
    for (char *pid = strtok_r(text, "\n", &save); pid;
         pid = strtok_r(NULL, "\n", &save))
        list[used++] = (pid_t)strtol(pid, NULL, 10);
    qsort(list, used, sizeof(*list), by_number);
    *pids = list;
    *count = used;
    return 0;
}

int hpcb_group_tasks(const hpcb_node_t *node, hpcb_controller_t controller,
                     const char *group, pid_t **pids, size_t *count, hpcb_error_t *err)
{
    char dir[PATH_MAX], name[PATH_MAX], subsystem[16];
    const char *library;
    int size = 0, rc;

    if (group_dir(node, controller, group, dir, sizeof(dir), err) < 0)
        return -1;
    library = library_name(node, controller);
    if (!library || !hpcb_knob_exists(dir, "cgroup.procs"))
        return read_procs(dir, pids, count, err);
    snprintf(name, sizeof(name), "%s", group);
    snprintf(subsystem, sizeof(subsystem), "%s", library);
    rc = cgroup_get_procs(name, subsystem, pids, &size);
    if (rc)
        return library_error(err, "list the tasks of", group, rc);
    *count = size > 0 ? (size_t)size : 0;
    return 0;
}

static void delete_by_library(const char *library, const char *group)
{
    auto_cgroup cgroup_ptr_t doomed = cgroup_new_cgroup(group);

    if (doomed && cgroup_add_controller(doomed, library))
        cgroup_delete_cgroup_ext(doomed, CGFLAG_DELETE_RECURSIVE);
}

/* A process that was just killed, or has just ended, keeps its group until the kernel
 * has released it. */
static int remove_patiently(const char *dir, const char *above, hpcb_error_t *err)
{
    struct timespec nap = {.tv_nsec = NAP_FIRST_NS};
    int rc = hpcb_tree_remove(dir, above, err);

    for (; rc < 0 && errno == EBUSY && nap.tv_nsec <= NAP_LAST_NS; nap.tv_nsec *= 2) {
        nanosleep(&nap, NULL);
        rc = hpcb_tree_remove(dir, above, err);
    }
    return rc;
}

int hpcb_group_delete(const hpcb_node_t *node, hpcb_controller_t controller,
                      const char *group, hpcb_error_t *err)
{
    const hpcb_knob_ops_t *before;
    char dir[PATH_MAX], above[PATH_MAX];
    const char *library;
    int rc;

    if (group_dir(node, controller, group, dir, sizeof(dir), err) < 0)
        return -1;
    memcpy(above, dir, sizeof(above));
    *strrchr(above, '/') = '\0';
    library = library_name(node, controller);
    if (library)
        delete_by_library(library, group);
    before = enter(node);
    rc = remove_patiently(dir, above, err);
    leave(node, before);
    return rc;
}
