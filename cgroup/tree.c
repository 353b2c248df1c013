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
#include "cgroup/tree.h"
#include "common/cleanup.h"

#define DEPTH_MAX 16 /* a job run by root may have made groups below ours */
#define PASSES    8  /* against processes that fork meanwhile */

static int move_all(const char *dir, const char *to, hpcb_error_t *err)
{
    hpcb_autofree char *text = hpcb_knob_read_all(dir, "cgroup.procs", err);
    char *save = NULL;
    int rc = 0;

    if (!text)
        return hpcb_knob_gone(errno) ? 0 : -1;
    for (char *pid = strtok_r(text, "\n", &save); pid;
         pid = strtok_r(NULL, "\n", &save)) {
        if (hpcb_knob_write(to, "cgroup.procs", pid, err) < 0 && errno != ESRCH)
            rc = -1;
    }
    return rc;
}

static bool is_group(const char *dir, const struct dirent *entry, char *path,
                     size_t size)
{
    struct stat status;

    return entry->d_name[0] != '.' &&
           hpcb_knob_path(dir, entry->d_name, path, size, NULL) == 0 &&
           lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Call visit for dir after all groups below it. */
static int walk(const char *dir, const char *to, int depth,
                int (*visit)(const char *dir, const char *to, hpcb_error_t *err),
                hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *handle = opendir(dir);
    struct dirent *entry;
    char child[PATH_MAX];
    int rc = 0;

    if (!handle && errno == ENOENT)
        return 0;
    if (!handle || depth == 0)
        return hpcb_error(err, "%s: %s", dir,
                          handle ? "nested too deep" : strerror(errno));
    while ((entry = readdir(handle))) {
        if (is_group(dir, entry, child, sizeof(child)) &&
            walk(child, to, depth - 1, visit, rc ? NULL : err) < 0)
            rc = -1;
    }
    return visit(dir, to, rc ? NULL : err) < 0 ? -1 : rc;
}

static int remove_one(const char *dir, const char *to, hpcb_error_t *err)
{
    for (int i = 0; i < PASSES; i++) {
        if (hpcb_knob_rmdir(dir, "", err) == 0 || errno == ENOENT)
            return 0;
        if (errno != EBUSY || move_all(dir, to, err) < 0)
            return -1;
    }
    errno = EBUSY;
    return -1;
}

int hpcb_tree_drain(const char *dir, const char *to, hpcb_error_t *err)
{
    return walk(dir, to, DEPTH_MAX, move_all, err);
}

int hpcb_tree_remove(const char *dir, const char *to, hpcb_error_t *err)
{
    return walk(dir, to, DEPTH_MAX, remove_one, err);
}
