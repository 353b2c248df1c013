/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/held.h"
#include "cgroup/knob.h"
#include "cgroup/steps.h"
#include "cgroup/task.h"

/* For all primaries together; beyond this every CPU may be in use. */
#define THREADS_MAX 16384

typedef struct {
    const hpcb_target_t *target;
    const char *own; /* the target's job */
    hpcb_cpus_t held;
    size_t threads;
    int unread; /* errno of a list of processes, 0: none */
} look_t;

static int add_process(pid_t pid, void *arg)
{
    look_t *look = arg;
    pid_t *tids = NULL;
    size_t count = 0;

    if (hpcb_task_threads(pid, &tids, &count, NULL) < 0)
        return 0;
    look->threads += count;
    for (size_t i = 0; i < count && look->threads <= THREADS_MAX; i++) {
        hpcb_cpus_t cpus;

        if (hpcb_task_cpus(tids[i], &cpus, NULL) == 0)
            hpcb_cpus_join(&look->held, &cpus);
    }
    free(tids);
    return look->threads > THREADS_MAX;
}

static bool reads(const char *dir, const char *name, const char *value)
{
    char text[32];

    return hpcb_knob_read(dir, name, text, sizeof(text), NULL) == 0 &&
           strcmp(text, value) == 0;
}

static bool is_guest(const hpcb_target_t *target, const char *job)
{
    const char *mount = hpcb_node_mount(target->node, HPCB_CTL_CPU);
    char group[PATH_MAX];

    if (hpcb_node_version(target->node, HPCB_CTL_CPU) == 2)
        return reads(job, HPCB_KNOB_IDLE, "1") || reads(job, "cpu.weight", "1");
    if (!mount || !target->guest_cgroup ||
        snprintf(group, sizeof(group), "%s/%s", target->guest_cgroup,
                 strrchr(job, '/') + 1) >= (int)sizeof(group))
        return false;
    return hpcb_knob_exists(mount, group);
}

static int add_job(const char *job, void *arg)
{
    look_t *look = arg;
    int rc;

    if (strcmp(job, look->own) == 0 || is_guest(look->target, job))
        return 0;
    rc = hpcb_steps_busy(look->target->node, job, add_process, look);
    if (rc < 0 && !hpcb_knob_gone(errno))
        look->unread = errno;
    return rc > 0 || look->unread;
}

int hpcb_held_cpus(const hpcb_target_t *target, hpcb_cpus_t *held, hpcb_error_t *err)
{
    look_t look = {.target = target};
    char own[PATH_MAX];

    if (hpcb_steps_job(target->node, target->pid, own, sizeof(own), err) < 0)
        return -1;
    look.own = own;
    if (hpcb_steps_jobs(target->node, own, add_job, &look) != 0) {
        errno = look.unread ? look.unread : E2BIG;
        if (look.unread)
            return hpcb_error(err, "cannot list the processes of this node's jobs: %s",
                              strerror(errno));
        return hpcb_error(err, "the jobs of this node have more than %d threads",
                          THREADS_MAX);
    }
    *held = look.held;
    return 0;
}
