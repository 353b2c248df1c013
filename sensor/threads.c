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
#include "common/cleanup.h"
#include "sensor/threads.h"

#define DEPTH_MAX 8

/* Of a step's slurmstepd on cgroup v2: its children would have its counters, too. */
#define STEPD_GROUP "slurm"

typedef struct {
    const hpcb_threads_visitor_t *visitor;
    void *arg;
    hpcb_error_t *err;
} walk_t;

static int visit_lines(const walk_t *walk, char *text)
{
    char *end;

    for (long tid = strtol(text, &end, 10); end != text; tid = strtol(text, &end, 10)) {
        if (tid > 0 && walk->visitor->visit((pid_t)tid, walk->arg, walk->err) < 0)
            return -1;
        text = end;
    }
    return 0;
}

static int visit_group(const walk_t *walk, const char *dir, ino_t group)
{
    hpcb_autofree char *text = hpcb_knob_read_all(dir, "cgroup.threads", walk->err);

    if (!text)
        return hpcb_knob_gone(errno) ? 0 : -1;
    if (!text[0] || (walk->visitor->enter && !walk->visitor->enter(group, walk->arg)))
        return 0;
    return visit_lines(walk, text);
}

static int walk_groups(const walk_t *walk, const char *dir, ino_t group, int depth)
{
    hpcb_autoclosedir DIR *handle = opendir(dir);
    struct dirent *entry;

    if (visit_group(walk, dir, group) < 0)
        return -1;
    while (handle && depth > 0 && (entry = readdir(handle))) {
        char below[PATH_MAX];

        if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
            strcmp(entry->d_name, STEPD_GROUP) == 0 ||
            hpcb_knob_path(dir, entry->d_name, below, sizeof(below), NULL) < 0)
            continue;
        if (walk_groups(walk, below, entry->d_ino, depth - 1) < 0)
            return -1;
    }
    return 0;
}

int hpcb_threads_each(const char *dir, const hpcb_threads_visitor_t *visitor, void *arg,
                      hpcb_error_t *err)
{
    const walk_t walk = {.visitor = visitor, .arg = arg, .err = err};
    struct stat group;

    if (stat(dir, &group) < 0)
        return hpcb_error(err, "%s: %s", dir, strerror(errno));
    return walk_groups(&walk, dir, group.st_ino, DEPTH_MAX);
}
