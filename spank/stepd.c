/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/task.h"
#include "cgroup/undo.h"
#include "common/log.h"
#include "spank/stepd.h"

/* CPU time of slurmstepd: what a start and an end take several times over (30 to 100 ms
 * each on common machines), and then a tenth of a percent of one CPU; accounting every
 * 30 s takes less. */
#define CREDIT_US  500000
#define CREDIT_PPM 1000

#define LIFTED (SCHED_FIFO | SCHED_RESET_ON_FORK)

/* slurmstepd's main thread until the watching one starts and after that has ended; in
 * between that one. */
static struct {
    bool on;
    const char *root; /* the mount of cgroup v2 */
    bool lifted;
    bool refused;
    int64_t credit_us;
    int64_t cpu_us;     /* at the last look */
    int64_t wall_us;    /* at the last look */
    int down;           /* cgroup.procs for its children, -1: they stay with it */
    char job[PATH_MAX]; /* the job's directory that it has left, or "" */
} stepd = {.down = -1};

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* What an administrator has chosen for slurmd is left alone. */
static void set_thread(pid_t tid, bool lift)
{
    const struct sched_param param = {.sched_priority = lift ? 1 : 0};
    int now = sched_getscheduler(tid);

    if (now != (lift ? SCHED_OTHER : LIFTED))
        return;
    if (sched_setscheduler(tid, lift ? LIFTED : SCHED_OTHER, &param) < 0)
        stepd.refused |= errno == EPERM;
}

static void set_threads(bool lift)
{
    pid_t *tids, self = gettid();
    size_t count;

    if (hpcb_task_threads(getpid(), &tids, &count, NULL) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        if (lift || tids[i] != self)
            set_thread(tids[i], lift);
    }
    free(tids);
    stepd.lifted = lift;
}

static void account(void)
{
    int64_t cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID), wall = clock_us(CLOCK_MONOTONIC);

    if (stepd.lifted)
        stepd.credit_us -= cpu - stepd.cpu_us;
    stepd.credit_us += (wall - stepd.wall_us) * CREDIT_PPM / 1000000;
    if (stepd.credit_us > CREDIT_US)
        stepd.credit_us = CREDIT_US;
    stepd.cpu_us = cpu;
    stepd.wall_us = wall;
}

/*
 * In a child of slurmstepd, between fork and what it was forked for: only system calls.
 * The descriptor is root's, as the kernel wants it, whoever the child is.  A group that
 * has gone was released.
 */
static void go_down(void)
{
    if (stepd.down >= 0 && write(stepd.down, "0", 1) != 1 && errno != ENODEV)
        _exit(1);
}

/* Children that are forked from now on go to dir before they do anything. */
static int send_children(const char *dir, hpcb_error_t *err)
{
    char path[PATH_MAX];

    if (hpcb_knob_path(dir, "cgroup.procs", path, sizeof(path), err) < 0)
        return -1;
    stepd.down = open(path, O_WRONLY | O_CLOEXEC);
    if (stepd.down < 0)
        return hpcb_error(err, "%s: %s", path, strerror(errno));
    if (pthread_atfork(NULL, NULL, go_down) != 0)
        return hpcb_error(err, "no memory to look after children");
    return 0;
}

static int note(const hpcb_step_t *step, const char *dir, hpcb_error_t *err)
{
    hpcb_undo_t *undo;
    int rc;

    if (hpcb_undo_open(step->conf.state_dir, step->job_id, &undo, err) < 0)
        return -1;
    rc = hpcb_undo_note_task(undo, getpid(), "cgroup", dir, err);
    hpcb_undo_close(undo);
    return rc;
}

static int move(const hpcb_step_t *step, hpcb_error_t *err)
{
    char own[PATH_MAX], job[PATH_MAX], scope[PATH_MAX], path[PATH_MAX];

    if (hpcb_node_task_dir(step->node, getpid(), HPCB_CTL_CPU, own, sizeof(own), err) <
            0 ||
        hpcb_node_job_dir(step->node, getpid(), HPCB_CTL_CPU, job, sizeof(job), err) <
            0)
        return -1;
    snprintf(scope, sizeof(scope), "%s", job);
    *strrchr(scope, '/') = '\0';
    if (hpcb_knob_path(scope, "system", path, sizeof(path), err) < 0 ||
        send_children(own, err) < 0 || note(step, own, err) < 0 ||
        hpcb_task_set(getpid(), "cgroup", path, err) < 0)
        return -1;
    snprintf(stepd.job, sizeof(stepd.job), "%s", job);
    return 0;
}

const char *hpcb_spank_stepd_job(void)
{
    return stepd.job;
}

/* v1: the task is where guests are, slurmstepd is not. */
static int send_after(const hpcb_step_t *step, pid_t pid, hpcb_error_t *err)
{
    char ours[HPCB_NAME_MAX + 2], dir[PATH_MAX];

    if (hpcb_node_task_dir(step->node, pid, HPCB_CTL_CPU, dir, sizeof(dir), err) < 0)
        return -1;
    snprintf(ours, sizeof(ours), "/%s/", step->conf.guest_cgroup);
    if (!strstr(dir, ours))
        return hpcb_error(err, "%s is not the guests' group", dir);
    return send_children(dir, err);
}

void hpcb_spank_stepd_settle(const hpcb_step_t *step, pid_t pid)
{
    static bool settled;
    hpcb_error_t err;
    int rc = 0;

    if (settled || step->klass != HPCB_CLASS_GUEST || !step->node)
        return;
    settled = true;
    if (hpcb_node_version(step->node, HPCB_CTL_CPU) == 1)
        rc = send_after(step, pid, &err);
    else if (stepd.on && stepd.refused)
        rc = move(step, &err);
    if (rc < 0)
        hpcb_log(HPCB_LOG_DEBUG, "slurmstepd stays as it is: %s", err.text);
}

void hpcb_spank_stepd_open(const hpcb_step_t *step)
{
    char dir[PATH_MAX];

    if (step->klass != HPCB_CLASS_GUEST || !step->node ||
        hpcb_node_version(step->node, HPCB_CTL_CPU) != 2 ||
        hpcb_node_job_dir(step->node, getpid(), HPCB_CTL_CPU, dir, sizeof(dir), NULL) <
            0)
        return;
    stepd.on = true;
    stepd.root = hpcb_node_mount(step->node, HPCB_CTL_CPU);
    account();
    stepd.credit_us = CREDIT_US;
    set_threads(true);
}

bool hpcb_spank_stepd_lifted(void)
{
    return stepd.on;
}

void hpcb_spank_stepd_look(void)
{
    bool was = stepd.lifted;

    if (!stepd.on)
        return;
    account();
    if (stepd.credit_us > 0)
        set_threads(true);
    else if (was)
        set_threads(false);
    if (was != stepd.lifted)
        hpcb_log(HPCB_LOG_DEBUG, "slurmstepd is %s, credit %ld ms",
                 stepd.lifted ? "lifted" : "as idle as its guest",
                 (long)(stepd.credit_us / 1000));
}

int hpcb_spank_stepd_lift(void)
{
    if (stepd.on)
        set_threads(true);
    return stepd.refused ? -1 : 0;
}

/* Where it cannot leave it stays lifted. */
void hpcb_spank_stepd_leave(void)
{
    if (stepd.down >= 0)
        close(stepd.down);
    stepd.down = -1;
    if (!stepd.on)
        return;
    set_threads(true);
    if (hpcb_task_set(getpid(), "cgroup", stepd.root, NULL) < 0)
        return;
    set_threads(false);
    set_thread(gettid(), false);
}
