/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cgroup/slices.h"
#include "cgroup/steps.h"
#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/text.h"

#define KERNELS_OWN "0"

int hpcb_slices_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    if (!hpcb_node_linux(node, 6, 12))
        return hpcb_error(err, "slices need Linux 6.12");
    if (hpcb_node_sched_ext(node))
        return hpcb_error(err, "a sched_ext scheduler is loaded");
    return 0;
}

/* True while tid is a thread of the process pid that began at start. */
static bool belongs(pid_t tid, pid_t pid, uint64_t start)
{
    uint64_t now;

    return hpcb_task_start(pid, &now) == 0 && now == start &&
           (syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH);
}

static bool has_ours(pid_t tid)
{
    char now[HPCB_TASK_TEXT_MAX];

    return hpcb_task_get(tid, "slice", now, sizeof(now), NULL) == 0 &&
           strcmp(now, HPCB_SLICE_PRIMARY) == 0;
}

/* True if it has the kernel's own now. */
static bool reset(pid_t tid)
{
    return hpcb_task_set(tid, "slice", KERNELS_OWN, NULL) == 0;
}

/* The kernel does not show who chose a slice: it is the kernel's own if resetting it
 * changes nothing. */
static bool is_chosen(pid_t tid, const char *slice)
{
    char own[HPCB_TASK_TEXT_MAX];

    if (!reset(tid) || hpcb_task_get(tid, "slice", own, sizeof(own), NULL) < 0)
        return true;
    if (strcmp(own, slice) == 0)
        return false;
    hpcb_task_set(tid, "slice", slice, NULL);
    return true;
}

/* The ID may be reused by a thread of others at any time, so it is checked before and
 * after. */
static bool lengthen_thread(pid_t tid, pid_t pid, uint64_t start)
{
    char now[HPCB_TASK_TEXT_MAX];

    if (hpcb_task_get(tid, "slice", now, sizeof(now), NULL) < 0 ||
        strcmp(now, HPCB_SLICE_PRIMARY) == 0 || !belongs(tid, pid, start) ||
        is_chosen(tid, now) ||
        hpcb_task_set(tid, "slice", HPCB_SLICE_PRIMARY, NULL) < 0)
        return false;
    if (belongs(tid, pid, start))
        return true;
    if (has_ours(tid))
        reset(tid);
    return false;
}

static bool restore_thread(pid_t tid, pid_t pid, uint64_t start)
{
    return has_ours(tid) && belongs(tid, pid, start) && reset(tid);
}

typedef struct {
    const hpcb_node_t *node;
    const char *dir; /* NULL: the caller has asked whose the process is */
    bool (*change)(pid_t tid, pid_t pid, uint64_t start);
    int changed;
    size_t skip;   /* processes that earlier calls have visited */
    size_t first;  /* thread with which the next process begins */
    size_t seen;   /* processes visited by this call, all of their threads */
    size_t thread; /* of the process after these, the one with which to continue */
    size_t looks;  /* left */
} walk_t;

/* Position of a walk: the process, and its thread in the lower bits. */
#define THREAD_BITS 24
#define THREAD_MASK ((UINT64_C(1) << THREAD_BITS) - 1)

/* The ID may have been reused since the list was read. */
static bool is_of_job(const walk_t *walk, pid_t pid)
{
    char dir[PATH_MAX];

    return !walk->dir ||
           (hpcb_steps_job(walk->node, pid, dir, sizeof(dir), NULL) == 0 &&
            strcmp(dir, walk->dir) == 0);
}

/* Return whether the rest of its threads has been visited. */
static bool change_threads(walk_t *walk, pid_t pid)
{
    hpcb_autofree pid_t *tids = NULL;
    size_t count = 0, i;
    uint64_t start;

    if (hpcb_task_start(pid, &start) < 0 || !is_of_job(walk, pid) ||
        hpcb_task_threads(pid, &tids, &count, NULL) < 0)
        return true;
    for (i = walk->first; i < count && walk->looks > 0; i++, walk->looks--)
        walk->changed += walk->change(tids[i], pid, start);
    walk->thread = i;
    return i >= count;
}

static int visit(pid_t pid, void *arg)
{
    walk_t *walk = arg;

    if (walk->skip > 0) {
        walk->skip--;
        return 0;
    }
    if (walk->looks == 0)
        return 1;
    walk->looks--;
    if (!change_threads(walk, pid))
        return 1;
    walk->first = walk->thread = 0;
    walk->seen++;
    return 0;
}

static int change_job(const hpcb_node_t *node, const char *dir, uint64_t *from,
                      bool (*change)(pid_t tid, pid_t pid, uint64_t start))
{
    walk_t walk = {.node = node,
                   .dir = dir,
                   .change = change,
                   .skip = (size_t)(*from >> THREAD_BITS),
                   .first = (size_t)(*from & THREAD_MASK),
                   .looks = HPCB_SLICES_MAX};
    int rc = hpcb_steps_each(node, dir, visit, &walk);
    uint64_t process = (*from >> THREAD_BITS) + walk.seen;

    *from = rc > 0 ? process << THREAD_BITS | walk.thread : 0;
    return rc < 0 ? -1 : walk.changed;
}

int hpcb_slices_lengthen(const hpcb_node_t *node, const char *dir, uint64_t *from)
{
    return change_job(node, dir, from, lengthen_thread);
}

int hpcb_slices_restore(const hpcb_node_t *node, const char *dir, uint64_t *from)
{
    return change_job(node, dir, from, restore_thread);
}

/* A slice of a process outside of jobs is its own. */
static bool in_job(const hpcb_node_t *node, pid_t pid)
{
    char dir[PATH_MAX];

    return hpcb_steps_job(node, pid, dir, sizeof(dir), NULL) == 0;
}

int hpcb_slices_release(const hpcb_node_t *node, hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *handle = NULL;
    walk_t walk = {.change = restore_thread, .looks = SIZE_MAX};
    struct dirent *entry;

    if (!hpcb_node_live(node) || hpcb_slices_probe(node, NULL) < 0)
        return 0;
    handle = opendir("/proc");
    if (!handle)
        return hpcb_error(err, "/proc: %s", strerror(errno));
    while ((entry = readdir(handle))) {
        uint64_t pid;

        if (hpcb_text_u64(entry->d_name, INT32_MAX, &pid) == 0 &&
            in_job(node, (pid_t)pid))
            change_threads(&walk, (pid_t)pid);
    }
    return walk.changed;
}
