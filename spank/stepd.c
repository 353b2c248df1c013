/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/mechanism.h"
#include "cgroup/task.h"
#include "cgroup/undo.h"
#include "common/file.h"
#include "common/log.h"
#include "spank/credit.h"
#include "spank/stepd.h"

/* CPU time of slurmstepd after hpcb_spank_stepd_leave, which cannot be measured. */
#define END_US 10000

#define LIFTED (SCHED_FIFO | SCHED_RESET_ON_FORK)

/* Since Linux 5.14; older headers do not know it. */
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

/* slurmstepd's main thread until the watching one starts and after that has ended; in
 * between that one. */
static struct {
    bool on;
    int version;                                  /* of the cpu controller: 1 or 2 */
    enum { BY_NOTHING, BY_POLICY, BY_GROUP } how; /* it is lifted and let down */
    const char *root;                             /* the mount of its cpu controller */
    bool lifted;
    bool self_up; /* keep_self_up has done its work since it was let down */
    bool refused;
    bool watched;    /* the watching thread watches it */
    bool ending;     /* lifted although nothing is left of the credit */
    bool distrusted; /* nothing but ends lift it any more */
    hpcb_credit_t *credit;
    int64_t left_us;     /* rest of it, at the last check */
    int64_t cpu_us;      /* at the last check */
    int64_t own_us;      /* the watching thread's own, which is always lifted */
    int64_t lifted_us;   /* ending: CLOCK_MONOTONIC since when */
    int down;            /* cgroup.procs for its children, -1: they stay with it */
    char high[PATH_MAX]; /* BY_GROUP: the group without a limit … */
    char low[PATH_MAX];  /* … and the one that is as idle as its guest */
    char job[PATH_MAX];  /* v2: the job's directory that it has left, or "" */
} stepd = {.down = -1};

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* An administrator's setting for slurmd stays. */
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

static void set_group(bool lift)
{
    if (hpcb_task_set(getpid(), "cgroup", lift ? stepd.high : stepd.low, NULL) == 0)
        stepd.lifted = lift;
}

/* v1: the thread that checks stays in its group, so that it is able to move the others
 * back, however many threads the guest has.  "0" is the caller: to move another thread
 * the kernel blocks forks on the whole node until a grace period of RCU is over, and
 * all changes of cgroups, including hpcbd's. */
static void keep_self_up(void)
{
    char path[PATH_MAX];

    if (stepd.how != BY_GROUP || stepd.version != 1 || stepd.lifted || stepd.self_up ||
        hpcb_knob_path(stepd.high, "tasks", path, sizeof(path), NULL) < 0)
        return;
    stepd.self_up = hpcb_file_write(path, "0", NULL) == 0;
}

/*
 * Return whether a thread waits for a futex with priority inheritance.  Nothing in
 * Slurm does, but slurmstepd shares memory with its tasks that they can write, with
 * mutexes in it (PMIx, gds/ds21): a user who makes one inherit priorities runs as
 * SCHED_FIFO for as long as slurmstepd waits.
 */
static bool waits_for_heir(pid_t tid)
{
    char path[64], text[256];
    unsigned long long op = 0;
    long number = -1;

    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)tid);
    if (hpcb_file_read(path, text, sizeof(text), NULL) < 0 ||
        sscanf(text, "%ld %*x %llx", &number, &op) != 2 || number != SYS_futex)
        return false;
    op &= (unsigned long long)FUTEX_CMD_MASK;
    return op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2 || op == FUTEX_WAIT_REQUEUE_PI;
}

static void look_for_heirs(void)
{
    pid_t *tids;
    size_t count;

    if (stepd.how != BY_POLICY || stepd.distrusted ||
        hpcb_task_threads(getpid(), &tids, &count, NULL) < 0)
        return;
    for (size_t i = 0; i < count && !stepd.distrusted; i++)
        stepd.distrusted = waits_for_heir(tids[i]);
    free(tids);
    if (stepd.distrusted)
        hpcb_log(HPCB_LOG_INFO,
                 "slurmstepd waits for a futex with priority inheritance, which the "
                 "user has made: it is as idle as its guest from now on");
}

static void set_lift(bool lift)
{
    if (stepd.how == BY_POLICY)
        set_threads(lift);
    else if (stepd.how == BY_GROUP && lift != stepd.lifted)
        set_group(lift);
}

/* All but the caller, also what an earlier caller has left up for itself. */
static void let_down(void)
{
    if (stepd.how == BY_POLICY)
        set_threads(false);
    else if (stepd.how == BY_GROUP)
        set_group(false);
    stepd.self_up = false;
}

static void account(int64_t more_us)
{
    int64_t cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    int64_t own = stepd.watched ? clock_us(CLOCK_THREAD_CPUTIME_ID) : 0;
    int64_t used = more_us + (stepd.lifted ? cpu - stepd.cpu_us : own - stepd.own_us);

    stepd.left_us = hpcb_spank_credit_charge(stepd.credit, used);
    /* Time that it may pass on is not its own CPU time. */
    if (stepd.ending && stepd.distrusted)
        used = clock_us(CLOCK_MONOTONIC) - stepd.lifted_us;
    if (stepd.ending)
        (void)hpcb_spank_credit_charge_end(stepd.credit, used);
    stepd.cpu_us = cpu;
    stepd.own_us = own;
}

/*
 * In a child of slurmstepd, between fork and its work: only system calls.  The
 * descriptor is root's, as the kernel requires, whoever the child is.  A group that no
 * longer exists was released.
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
        return hpcb_error(err, "no memory to move children to their group");
    return 0;
}

static int note_own_group(const hpcb_step_t *step, const char *dir, hpcb_error_t *err)
{
    hpcb_undo_t *undo;
    int rc;

    if (hpcb_undo_open(step->conf.state_dir, step->job_id, &undo, err) < 0)
        return -1;
    rc = hpcb_undo_note_task(undo, getpid(), "cgroup", dir, err);
    hpcb_undo_close(undo);
    return rc;
}

/* It is in high. */
static void use_groups(const char *high, const char *low)
{
    snprintf(stepd.high, sizeof(stepd.high), "%s", high);
    snprintf(stepd.low, sizeof(stepd.low), "%s", low);
    stepd.how = BY_GROUP;
    stepd.lifted = true;
}

static int move_to_system(const hpcb_step_t *step, hpcb_error_t *err)
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
        send_children(own, err) < 0 || note_own_group(step, own, err) < 0 ||
        hpcb_task_set(getpid(), "cgroup", path, err) < 0)
        return -1;
    snprintf(stepd.job, sizeof(stepd.job), "%s", job);
    use_groups(path, own);
    return 0;
}

const char *hpcb_spank_stepd_job(void)
{
    return stepd.job;
}

/* v1: the tasks are in the group of dir.  Use a group for slurmstepds next to it: among
 * the tasks it would have as little as one of them, however many there are, and outside
 * of the job's group it is under no quota of theirs. */
static int group_of_stepds(const hpcb_step_t *step, const char *dir, char *group,
                           size_t size, hpcb_error_t *err)
{
    char common[PATH_MAX], name[32];

    if (hpcb_guest_mark(step->node, step->conf.guest_cgroup, step->job_id, err) < 0)
        return -1;
    snprintf(common, sizeof(common), "%s", dir);
    *strrchr(common, '/') = '\0';
    snprintf(name, sizeof(name), "guest_%" PRIu32, step->job_id);
    return hpcb_knob_path(common, name, group, size, err);
}

/* v1: the task is in the guests' group, slurmstepd is not, and joins it after it has
 * used too much. */
static int send_after(const hpcb_step_t *step, pid_t pid, hpcb_error_t *err)
{
    char ours[HPCB_NAME_MAX + 2], dir[PATH_MAX], own[PATH_MAX], low[PATH_MAX];

    if (hpcb_node_task_dir(step->node, pid, HPCB_CTL_CPU, dir, sizeof(dir), err) < 0)
        return -1;
    snprintf(ours, sizeof(ours), "/%s/", step->conf.guest_cgroup);
    if (!strstr(dir, ours))
        return hpcb_error(err, "%s is not the guests' group", dir);
    if (send_children(dir, err) < 0 ||
        hpcb_node_task_dir(step->node, getpid(), HPCB_CTL_CPU, own, sizeof(own), err) <
            0)
        return -1;
    if (group_of_stepds(step, dir, low, sizeof(low), err) < 0) {
        hpcb_log(HPCB_LOG_DEBUG, "%s", err->text);
        snprintf(low, sizeof(low), "%s", dir);
    }
    /* It goes home by itself when the step ends. */
    if (note_own_group(step, own, err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err->text);
    use_groups(own, low);
    return 0;
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
        rc = move_to_system(step, &err);
    if (rc < 0)
        hpcb_log(HPCB_LOG_DEBUG, "slurmstepd stays as it is: %s", err.text);
    hpcb_spank_stepd_look();
}

/* Until now it has run at full weight. */
static void open_account(const hpcb_step_t *step)
{
    hpcb_error_t err;

    stepd.credit = hpcb_spank_credit_open(step->conf.state_dir, step->job_id, &err);
    if (!stepd.credit) {
        hpcb_log(HPCB_LOG_INFO,
                 "slurmstepd will be as idle as its guest until the step ends: %s",
                 err.text);
        stepd.credit = hpcb_spank_credit_private();
    }
    stepd.lifted = true;
    account(0);
    stepd.lifted = stepd.how != BY_POLICY;
}

void hpcb_spank_stepd_open(const hpcb_step_t *step)
{
    char dir[PATH_MAX];

    if (step->klass != HPCB_CLASS_GUEST || !step->node)
        return;
    stepd.version = hpcb_node_version(step->node, HPCB_CTL_CPU);
    if (stepd.version != 1 && hpcb_node_job_dir(step->node, getpid(), HPCB_CTL_CPU, dir,
                                                sizeof(dir), NULL) < 0)
        return;
    stepd.on = true;
    stepd.how = stepd.version == 1 ? BY_NOTHING : BY_POLICY;
    stepd.root = hpcb_node_mount(step->node, HPCB_CTL_CPU);
    open_account(step);
    if (stepd.left_us > 0)
        set_lift(true);
}

bool hpcb_spank_stepd_lifted(void)
{
    return stepd.on;
}

void hpcb_spank_stepd_watch(pthread_t thread)
{
    static const struct sched_param param = {.sched_priority = 1};

    if (stepd.on && stepd.how == BY_POLICY)
        (void)pthread_setschedparam(thread, LIFTED, &param);
}

void hpcb_spank_stepd_unwatched(void)
{
    if (!stepd.on || stepd.how != BY_POLICY)
        return;
    set_threads(false);
    set_thread(gettid(), false);
}

/* Return whether the caller checks for the first time: the thread that checked before,
 * and stayed up, will not check again. */
static bool takes_over(void)
{
    bool first = !stepd.watched && getpid() != gettid();

    if (first) {
        stepd.watched = true;
        stepd.own_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
    }
    return first;
}

void hpcb_spank_stepd_look(void)
{
    bool was = stepd.lifted, first;

    if (!stepd.on)
        return;
    first = takes_over();
    account(0);
    look_for_heirs();
    stepd.ending = false;
    if (stepd.left_us > 0 && !stepd.distrusted)
        set_lift(true);
    else if (was || first)
        let_down();
    keep_self_up();
    if (was != stepd.lifted)
        hpcb_log(HPCB_LOG_DEBUG, "slurmstepd is %s, credit %ld ms",
                 stepd.lifted ? "lifted" : "as idle as its guest",
                 (long)(stepd.left_us / 1000));
}

int hpcb_spank_stepd_lift(void)
{
    if (!stepd.on)
        return 0;
    account(0);
    stepd.ending = stepd.left_us <= 0 || stepd.distrusted;
    stepd.lifted_us = clock_us(CLOCK_MONOTONIC);
    if (!stepd.ending || hpcb_spank_credit_charge_end(stepd.credit, 0) > 0)
        set_lift(true);
    else
        stepd.ending = false;
    return stepd.refused ? -1 : 0;
}

/* Slurm's group does not exist any more if its own end of the step was faster. */
static void go_home(void)
{
    if (!stepd.lifted && hpcb_task_set(getpid(), "cgroup", stepd.high, NULL) < 0)
        (void)hpcb_task_set(getpid(), "cgroup", stepd.root, NULL);
}

/* If it cannot leave it stays raised. */
static void leave(void)
{
    if (stepd.left_us > 0 && !stepd.distrusted)
        set_lift(true);
    if (hpcb_task_set(getpid(), "cgroup", stepd.root, NULL) < 0)
        return;
    set_threads(false);
    set_thread(gettid(), false);
}

void hpcb_spank_stepd_leave(void)
{
    if (stepd.down >= 0)
        close(stepd.down);
    stepd.down = -1;
    if (!stepd.on)
        return;
    stepd.watched = false;
    stepd.own_us = 0;
    account(END_US);
    hpcb_spank_credit_close(stepd.credit);
    stepd.credit = NULL;
    if (stepd.version == 2)
        leave();
    else if (stepd.how == BY_GROUP)
        go_home();
}
