/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Threads as SCHED_FIFO.  Only threads of the normal policy are changed, so that normal
 * is the policy to restore; the kernel keeps their nice values.
 *
 * If groups have real-time budgets of their own (CONFIG_RT_GROUP_SCHED, v1), a group
 * with a budget below the boosted part would be stopped for the rest of it, which is
 * worse than no boost.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cgroup/favour_rows.h"
#include "cgroup/knob.h"
#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/text.h"

#ifndef SCHED_RESET_ON_FORK
#define SCHED_RESET_ON_FORK 0x40000000
#endif

#define FAVOURED (SCHED_FIFO | SCHED_RESET_ON_FORK)

/* A limit that a boosted part exactly fills ends with it, and the kernel then runs
 * other tasks for the rest of the limit's period (since Linux 6.12 above any real-time
 * priority), so that hpcbd would sleep through both switches.  So a margin is required,
 * in thousandths of a period. */
#define ROOM 10

static bool fits(const hpcb_favour_t *favour, uint64_t runtime, uint64_t period)
{
    return runtime * 1000 >= period * (favour->job.permille + ROOM);
}

/* Without a limit nothing else, including kernel threads, runs on a job's CPUs until
 * its boosted part ends. */
static int check_limit(const hpcb_favour_t *favour, const char *name,
                       const char *runtime, const char *period, hpcb_error_t *err)
{
    uint64_t runtime_us, period_us;

    if (runtime[0] == '-')
        return hpcb_error(err, "%s is %s: real-time threads have no limit", name,
                          runtime);
    if (hpcb_text_u64(runtime, UINT32_MAX, &runtime_us) ||
        hpcb_text_u64(period, UINT32_MAX, &period_us) ||
        fits(favour, runtime_us, period_us))
        return 0;
    return hpcb_error(err, "%s is %s, too little for the favoured part", name, runtime);
}

/* Of the kernel as a whole: /proc/sys/kernel. */
static int check_kernel(const hpcb_favour_t *favour, hpcb_error_t *err)
{
    char runtime[32], period[32];

    if (hpcb_node_read(favour->job.node, "proc/sys/kernel/sched_rt_runtime_us", runtime,
                       sizeof(runtime), NULL) < 0 ||
        hpcb_node_read(favour->job.node, "proc/sys/kernel/sched_rt_period_us", period,
                       sizeof(period), NULL) < 0)
        return 0;
    return check_limit(favour, "sched_rt_runtime_us", runtime, period, err);
}

static int check_group(const hpcb_favour_t *favour, pid_t pid, hpcb_error_t *err)
{
    char dir[PATH_MAX], name[PATH_MAX + 32], runtime[32], period[32];

    if (hpcb_node_task_dir(favour->job.node, pid, HPCB_CTL_CPU, dir, sizeof(dir),
                           NULL) < 0 ||
        hpcb_knob_read(dir, "cpu.rt_runtime_us", runtime, sizeof(runtime), NULL) < 0 ||
        hpcb_knob_read(dir, "cpu.rt_period_us", period, sizeof(period), NULL) < 0)
        return 0;
    snprintf(name, sizeof(name), "%s/cpu.rt_runtime_us", dir);
    return check_limit(favour, name, runtime, period, err);
}

static int probe(hpcb_favour_t *favour, pid_t pid, hpcb_error_t *err)
{
    if (favour->no_fifo)
        return hpcb_error(err, "%s", favour->no_fifo);
    if (favour->overflow)
        return hpcb_error(err, "the job has more than %d threads here",
                          HPCB_FAVOUR_THREADS_MAX);
    return check_kernel(favour, err) < 0 || check_group(favour, pid, err) < 0 ? -1 : 0;
}

/* Drop those that are not ours to change. */
static int scan_threads(hpcb_favour_t *favour, hpcb_error_t *err)
{
    size_t kept = 0;

    if (favour->overflow)
        return probe(favour, 0, err);
    for (size_t i = 0; i < favour->n_threads; i++) {
        int policy = sched_getscheduler(favour->threads[i].tid);

        if (policy == SCHED_OTHER || policy == FAVOURED)
            favour->threads[kept++] = favour->threads[i];
    }
    favour->n_threads = kept;
    return 0;
}

/* True while tid is a thread of process pid. */
static bool belongs(const hpcb_favour_thread_t *thread)
{
    return syscall(SYS_tgkill, thread->pid, thread->tid, 0) == 0 || errno != ESRCH;
}

/*
 * Drop the threads that have ended since the last scan, because their IDs may be
 * reused.  A process is identified by its start time, a thread by its process.  This
 * reads /proc, and so runs before the first thread of the job is boosted.
 */
static void drop_ended(hpcb_favour_t *favour)
{
    pid_t pid = 0;
    bool lives = false;
    size_t kept = 0;

    for (size_t i = 0; i < favour->n_threads; i++) {
        const hpcb_favour_thread_t *thread = &favour->threads[i];
        uint64_t start;

        if (thread->pid != pid) {
            pid = thread->pid;
            lives = hpcb_task_start(pid, &start) == 0 && start == thread->start;
        }
        if (lives && belongs(thread))
            favour->threads[kept++] = *thread;
    }
    favour->n_threads = kept;
}

static void make_normal(pid_t tid)
{
    const struct sched_param normal = {0};

    if (sched_getscheduler(tid) == FAVOURED)
        (void)sched_setscheduler(tid, SCHED_OTHER, &normal);
}

/* The ID may be reused between check and call, and nothing would lower the new thread,
 * so it is checked after the call as well. */
static int favour_thread(const hpcb_favour_thread_t *thread)
{
    const struct sched_param param = {.sched_priority = thread->priority};

    if (sched_setscheduler(thread->tid, FAVOURED, &param) < 0)
        return errno == ESRCH ? 0 : -1;
    if (!belongs(thread))
        make_normal(thread->tid);
    return 0;
}

static int begin_fifo(hpcb_favour_t *favour, hpcb_error_t *err)
{
    int rc = 0;

    drop_ended(favour);
    for (size_t i = favour->n_threads; i-- > 0;) {
        if (favour_thread(&favour->threads[i]) < 0)
            rc = hpcb_error(err, "thread %d: %s", (int)favour->threads[i].tid,
                            strerror(errno));
    }
    return rc;
}

int hpcb_favour_let_down(const hpcb_favour_thread_t *thread)
{
    const struct sched_param normal = {0};

    if (!belongs(thread) || sched_getscheduler(thread->tid) != FAVOURED ||
        sched_setscheduler(thread->tid, SCHED_OTHER, &normal) == 0 || errno == ESRCH)
        return 0;
    return -1;
}

static int end_fifo(hpcb_favour_t *favour, hpcb_error_t *err)
{
    int rc = 0;

    for (size_t i = favour->n_threads; i-- > 0;) {
        if (hpcb_favour_let_down(&favour->threads[i]) < 0)
            rc = hpcb_error(err, "thread %d: %s", (int)favour->threads[i].tid,
                            strerror(errno));
    }
    return rc;
}

static void nothing(hpcb_favour_t *favour)
{
    (void)favour;
}

const hpcb_favour_row_t hpcb_favour_fifo = {"fifo",     probe,    scan_threads,
                                            begin_fifo, end_fifo, nothing};

/* A real-time thread of others may have the same policy, but is in no job. */
static bool is_ours(const hpcb_node_t *node, pid_t tid)
{
    struct sched_param param;
    char dir[PATH_MAX];

    return sched_getscheduler(tid) == FAVOURED && sched_getparam(tid, &param) == 0 &&
           (param.sched_priority == HPCB_FAVOUR_PRIORITY ||
            param.sched_priority == HPCB_FAVOUR_PRIORITY_DAEMON) &&
           hpcb_node_job_dir(node, tid, HPCB_CTL_FREEZER, dir, sizeof(dir), NULL) == 0;
}

static int release_process(const hpcb_node_t *node, pid_t pid, bool *failed,
                           hpcb_error_t *err)
{
    const struct sched_param normal = {0};
    hpcb_autofree pid_t *tids = NULL;
    size_t count = 0;
    int undone = 0;

    if (hpcb_task_threads(pid, &tids, &count, NULL) < 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_ours(node, tids[i]))
            continue;
        if (sched_setscheduler(tids[i], SCHED_OTHER, &normal) == 0)
            undone++;
        else if (errno != ESRCH) {
            hpcb_error(err, "thread %d stays real-time: %s", (int)tids[i],
                       strerror(errno));
            *failed = true;
        }
    }
    return undone;
}

int hpcb_favour_fifo_release(const hpcb_node_t *node, hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    bool failed = false;
    int undone = 0;

    if (!hpcb_node_live(node))
        return 0;
    handle = opendir("/proc");
    if (!handle)
        return hpcb_error(err, "/proc: %s", strerror(errno));
    while ((entry = readdir(handle))) {
        uint64_t pid;

        if (hpcb_text_u64(entry->d_name, INT32_MAX, &pid) == 0)
            undone += release_process(node, (pid_t)pid, &failed, failed ? NULL : err);
    }
    return failed ? -1 : undone;
}
