/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Exiting threads become SCHED_FIFO: real-time tasks are not scheduled by group, so
 * that neither cpu.idle nor a weight counts.  A kernel with CONFIG_RT_GROUP_SCHED (not
 * Debian's, not RHEL's) wants a real-time budget in each v1 group first.
 *
 * The primary pays for what they take, so they are lifted for a small part of each
 * period only, and for a larger one the longer it lasts: all of it before Slurm gives
 * up (UnkillableStepTimeout, 60 s by default).
 *
 * The thread shares with slurmstepd's main thread what is in `watch`, under its lock.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cgroup/task.h"
#include "common/file.h"
#include "common/log.h"
#include "spank/dying.h"
#include "spank/siblings.h"

#define PERIOD_MS   2000
#define LIFT_MS     100 /* of the first periods: 5 % */
#define ROUNDS      5   /* until that doubles */
#define STACK_BYTES (256 * 1024)
#define DEPTH_MAX   8    /* job_N/step_N/user/task_N is 4 */
#define THREADS_MAX 4096 /* looked at in one round */
#define PF_EXITING  0x4  /* linux/sched.h; in /proc/PID/stat since Linux 2.6 */

/* Microseconds of each second: all guests of the node together, and one job. */
#define BUDGET_ALL "200000"
#define BUDGET_JOB "50000"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool running;
    bool stop;
    char dir[PATH_MAX];   /* Slurm's directory of the job: what holds its steps */
    char group[PATH_MAX]; /* v1: our cpu group of the job, "" where it is in none */
    pid_t *tasks;         /* the step's own tasks, not their children */
    size_t n_tasks;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

typedef enum { ALIVE, EXITING, GONE } life_t;

static life_t life_of(pid_t pid, pid_t tid)
{
    char path[64], text[1024];
    const char *rest;
    unsigned flags;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    if (hpcb_file_read(path, text, sizeof(text), NULL) < 0)
        return errno == ENOENT || errno == ESRCH ? GONE : ALIVE;
    /* The name in parentheses may hold anything; flags is the seventh word after it. */
    rest = strrchr(text, ')');
    if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
        return ALIVE;
    return flags & PF_EXITING ? EXITING : ALIVE;
}

static void grant(const char *dir, const char *budget)
{
    char path[PATH_MAX + 32], now[32];

    snprintf(path, sizeof(path), "%s/cpu.rt_runtime_us", dir);
    if (hpcb_file_read(path, now, sizeof(now), NULL) > 0 && strcmp(now, "0\n") == 0)
        (void)hpcb_file_write(path, budget, NULL);
}

/* Only groups of ours get a budget; it goes with them. */
static void grant_budgets(void)
{
    char *last = strrchr(watch.group, '/');

    if (!last)
        return;
    *last = '\0';
    grant(watch.group, BUDGET_ALL);
    *last = '/';
    grant(watch.group, BUDGET_JOB);
}

static void set_policy(pid_t tid, int policy)
{
    const struct sched_param param = {.sched_priority = policy == SCHED_FIFO ? 1 : 0};

    if (sched_setscheduler(tid, policy, &param) == 0 || errno != EPERM)
        return;
    grant_budgets();
    if (sched_setscheduler(tid, policy, &param) < 0 && errno == EPERM)
        hpcb_log(HPCB_LOG_DEBUG, "exiting task %d cannot be lifted", (int)tid);
}

static void set_exiting(pid_t pid, int policy, size_t *budget)
{
    pid_t *tids;
    size_t count;

    if (hpcb_task_threads(pid, &tids, &count, NULL) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        if (*budget == 0)
            break;
        (*budget)--;
        if (life_of(pid, tids[i]) == EXITING)
            set_policy(tids[i], policy);
    }
    free(tids);
}

static void set_group(const char *dir, int policy, size_t *budget)
{
    char path[PATH_MAX + 32];
    FILE *file;
    int pid;

    snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
    file = fopen(path, "re");
    while (file && *budget > 0 && fscanf(file, "%d", &pid) == 1)
        set_exiting(pid, policy, budget);
    if (file)
        fclose(file);
}

static void set_tree(const char *dir, int depth, int policy, size_t *budget)
{
    DIR *handle = depth < DEPTH_MAX ? opendir(dir) : NULL;
    struct dirent *entry;

    if (!handle)
        return;
    set_group(dir, policy, budget);
    while ((entry = readdir(handle))) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);

        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && n < (int)sizeof(path))
            set_tree(path, depth + 1, policy, budget);
    }
    closedir(handle);
}

/*
 * A task is exiting, or they all have gone and Slurm kills what they left behind. Cheap
 * as long as all is well: one small file a task, also where some have ended long before
 * the others.
 */
static bool step_ends(void)
{
    size_t gone = 0;

    for (size_t i = 0; i < watch.n_tasks; i++) {
        switch (life_of(watch.tasks[i], watch.tasks[i])) {
        case EXITING:
            return true;
        case GONE:
            gone++;
            break;
        default:
            break;
        }
    }
    return gone == watch.n_tasks;
}

/* With the lock held, which is let go meanwhile.  False when the thread is to end. */
static bool sleep_ms(unsigned ms)
{
    struct timespec when;
    int rc = 0;

    clock_gettime(CLOCK_REALTIME, &when);
    when.tv_sec += ms / 1000;
    when.tv_nsec += (long)(ms % 1000) * 1000000;
    if (when.tv_nsec >= 1000000000) {
        when.tv_nsec -= 1000000000;
        when.tv_sec++;
    }
    while (!watch.stop && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&watch.changed, &watch.lock, &when);
    return !watch.stop;
}

static void set_job(int policy)
{
    size_t budget = THREADS_MAX;

    set_tree(watch.dir, 0, policy, &budget);
}

static unsigned lift_ms(unsigned round)
{
    unsigned doublings = round / ROUNDS;
    unsigned ms = doublings < 5 ? LIFT_MS << doublings : PERIOD_MS;

    return ms < PERIOD_MS ? ms : PERIOD_MS;
}

static void *watcher(void *step)
{
    unsigned lifted = 0;

    pthread_mutex_lock(&watch.lock);
    for (unsigned round = 0; sleep_ms(PERIOD_MS - lifted);) {
        lifted = 0;
        if (!step_ends()) {
            /* Slurmstepd must not wait for it; dying_stop joins before step goes. */
            pthread_mutex_unlock(&watch.lock);
            hpcb_spank_siblings_renew(step);
            pthread_mutex_lock(&watch.lock);
            continue;
        }
        lifted = lift_ms(round++);
        set_job(SCHED_FIFO);
        if (!sleep_ms(lifted))
            break;
        if (lifted < PERIOD_MS)
            set_job(SCHED_OTHER);
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

/* slurmstepd's signals are for slurmstepd's own threads. */
static int start(const hpcb_step_t *step)
{
    pthread_attr_t attributes;
    sigset_t all, old;
    int rc;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&watch.thread, &attributes, watcher, (void *)step);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return rc;
}

static int remember(pid_t pid)
{
    pid_t *larger = realloc(watch.tasks, (watch.n_tasks + 1) * sizeof(*larger));

    if (!larger)
        return -1;
    larger[watch.n_tasks++] = pid;
    watch.tasks = larger;
    return 0;
}

/* While the task lives: of one that is exiting the kernel says that it is in the root
 * group (v1). */
static int find_groups(const hpcb_step_t *step, pid_t pid, hpcb_error_t *err)
{
    char ours[HPCB_NAME_MAX + 32];
    char *found;

    if (hpcb_node_job_dir(step->node, pid, HPCB_CTL_FREEZER, watch.dir,
                          sizeof(watch.dir), err) < 0)
        return -1;
    watch.group[0] = '\0';
    if (hpcb_node_task_dir(step->node, pid, HPCB_CTL_CPU, watch.group,
                           sizeof(watch.group), NULL) < 0)
        return 0;
    snprintf(ours, sizeof(ours), "/%s/job_%u", step->conf.guest_cgroup, step->job_id);
    found = strstr(watch.group, ours);
    if (!found || found[strlen(ours)] != '\0')
        watch.group[0] = '\0';
    return 0;
}

void hpcb_spank_dying_watch(const hpcb_step_t *step, pid_t pid)
{
    hpcb_error_t err;

    if (step->klass != HPCB_CLASS_GUEST || !step->node || !step->tasks)
        return;
    pthread_mutex_lock(&watch.lock);
    if (!watch.running && find_groups(step, pid, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
    else if (remember(pid) == 0 && !watch.running)
        watch.running = start(step) == 0;
    pthread_mutex_unlock(&watch.lock);
}

void hpcb_spank_dying_stop(void)
{
    if (!watch.running)
        return;
    pthread_mutex_lock(&watch.lock);
    watch.stop = true;
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watch.thread, NULL);
    watch.running = false;
    free(watch.tasks);
    watch.tasks = NULL;
    watch.n_tasks = 0;
}
