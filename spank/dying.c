/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Threads of exiting processes become SCHED_FIFO: real-time tasks are not scheduled by
 * group, so that neither cpu.idle nor a weight counts.  A kernel with
 * CONFIG_RT_GROUP_SCHED (Debian's User-Mode Linux, not its other ones) wants a
 * real-time budget in each v1 group first, and has none at all for v2 groups: there the
 * job as a whole is not idle for a while, once nothing of it lives.
 *
 * The primary pays for what they take, so they are lifted for a small part of each
 * period only, and for a larger one the longer it lasts: all of it before Slurm gives
 * up (UnkillableStepTimeout, 60 s by default).
 *
 * Every period, also while nothing ends, each thread of the job that lives and has a
 * real-time policy loses it: nothing that goes wrong here lasts longer than that.
 *
 * The thread shares with slurmstepd's main thread what is in `watch`, under its lock.
 *
 * On v2 slurmstepd, this thread too, is as idle as the guest: spank/stepd lifts it, and
 * the thread stays lifted as long as it runs.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "cgroup/knob.h"
#include "cgroup/life.h"
#include "common/log.h"
#include "spank/dying.h"
#include "cgroup/exiting.h"
#include "spank/siblings.h"
#include "spank/stepd.h"

#define PERIOD_MS   2000
#define LIFT_MS     100 /* of the first periods: 5 % */
#define ROUNDS      5   /* until that doubles */
#define ROUNDS_MAX  90  /* 3 min; Slurm has given up: again as in the first */
#define STACK_BYTES (256 * 1024)
#define WEIGHT      11u /* cpu.weight of a job that is woken, in the first periods */
#define GLANCE_MS                                                                      \
    100 /* maximum time for which a new process in it runs with that weight */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool running;
    bool stop;
    char dir[PATH_MAX];   /* Slurm's directory of the job, with its steps */
    char group[PATH_MAX]; /* v1: our cpu group of the job, "" if it is in none */
    pid_t *tasks;         /* the step's own tasks, not their children */
    size_t n_tasks;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/*
 * Return whether a task is exiting, or all have ended and Slurm kills what they left
 * behind.  A task that has ended counts, also if slurmstepd does not notice because a
 * process of the user traces it, so this may last as long as the user wants.  Cheap in
 * the normal case: one small file per task, also if some have ended long before the
 * others.
 */
static bool step_ends(void)
{
    size_t gone = 0;

    for (size_t i = 0; i < watch.n_tasks; i++) {
        switch (hpcb_life(watch.tasks[i])) {
        case HPCB_EXITING:
            return true;
        case HPCB_GONE:
            gone++;
            break;
        default:
            break;
        }
    }
    return gone == watch.n_tasks;
}

/* With the lock held, which is released meanwhile.  Return false if the thread must
 * end. */
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

/* Not for the user to foresee: from half as long to one and a half. */
static unsigned until_next_look(void)
{
    unsigned char byte = 128;

    (void)getrandom(&byte, 1, GRND_NONBLOCK);
    return HPCB_SPANK_STEPD_LOOK_MS / 2 + HPCB_SPANK_STEPD_LOOK_MS * byte / 256;
}

/* Do the same, with slurmstepd watched meanwhile. */
static bool rest_ms(unsigned ms)
{
    unsigned next = until_next_look();

    while (hpcb_spank_stepd_lifted() && ms > next) {
        hpcb_spank_stepd_look();
        if (!sleep_ms(next))
            return false;
        ms -= next;
        next = until_next_look();
    }
    hpcb_spank_stepd_look();
    return sleep_ms(ms);
}

static unsigned doublings(unsigned round)
{
    return round < ROUNDS_MAX ? round / ROUNDS : 0;
}

static unsigned lift_ms(unsigned round)
{
    unsigned ms = doublings(round) < 5 ? LIFT_MS << doublings(round) : PERIOD_MS;

    return ms < PERIOD_MS ? ms : PERIOD_MS;
}

/* On v2; a job that was released is not idle any more, and must not become it again. */
static bool job_is_idle(void)
{
    char text[16];

    return hpcb_knob_read(watch.dir, HPCB_KNOB_IDLE, text, sizeof(text), NULL) == 0 &&
           strcmp(text, "1") == 0;
}

/* Set the weight of the job (a primary of one CPU: 100): 10 % of a CPU, later more. */
static void set_weight(unsigned round)
{
    char text[16];

    snprintf(text, sizeof(text), "%u",
             doublings(round) < 4 ? WEIGHT << doublings(round) : 100u);
    if (hpcb_knob_write(watch.dir, HPCB_KNOB_IDLE, "0", NULL) == 0)
        (void)hpcb_knob_write(watch.dir, "cpu.weight", text, NULL);
}

/*
 * If the kernel refuses SCHED_FIFO (v2 with CONFIG_RT_GROUP_SCHED): for one period the
 * job is not idle but light, unless it has processes that are not exiting.  A step that
 * starts makes it idle again, and this ends with the next check.
 */
static bool wake_job(unsigned round, unsigned *lifted)
{
    bool go_on = true;

    *lifted = 0;
    if (!job_is_idle() || !hpcb_exiting_all(watch.dir))
        return true;
    set_weight(round);
    do {
        go_on = sleep_ms(GLANCE_MS);
        *lifted += GLANCE_MS;
    } while (go_on && *lifted < PERIOD_MS && hpcb_exiting_all(watch.dir));
    (void)hpcb_knob_write(watch.dir, HPCB_KNOB_IDLE, "1", NULL);
    return go_on;
}

static void lower_all(bool dying)
{
    size_t from = 0;

    do
        from = hpcb_exiting_lower(watch.dir, dying, from);
    while (from > 0);
}

/* False when the thread is to end. */
static bool lift_job(unsigned round, unsigned *lifted)
{
    bool refused = hpcb_spank_stepd_lift() < 0;

    if (hpcb_exiting_lift(watch.dir, watch.group) < 0 || refused)
        return wake_job(round, lifted);
    *lifted = lift_ms(round);
    if (!sleep_ms(*lifted))
        return false;
    if (*lifted < PERIOD_MS)
        lower_all(true);
    return true;
}

/* Slurmstepd must not wait for it; dying_stop joins before step goes. */
static void renew_siblings(const hpcb_step_t *step)
{
    if (!step->tasks)
        return;
    pthread_mutex_unlock(&watch.lock);
    hpcb_spank_siblings_renew(step);
    pthread_mutex_lock(&watch.lock);
}

static void *watcher(void *step)
{
    unsigned lifted = 0;
    size_t from = 0;

    pthread_mutex_lock(&watch.lock);
    for (unsigned round = 0; rest_ms(PERIOD_MS - lifted);) {
        lifted = 0;
        from = hpcb_exiting_lower(watch.dir, false, from);
        if (!step_ends()) {
            round = 0;
            renew_siblings(step);
            continue;
        }
        if (!lift_job(round++, &lifted))
            break;
    }
    lower_all(false);
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
    /* By itself the new one would not come to it for long. */
    if (rc == 0)
        hpcb_spank_stepd_watch(watch.thread);
    else
        hpcb_spank_stepd_unwatched();
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
    ours[0] = '/';
    hpcb_node_job_group(step->conf.guest_cgroup, step->job_id, ours + 1,
                        sizeof(ours) - 1);
    found = strstr(watch.group, ours);
    if (!found || found[strlen(ours)] != '\0')
        watch.group[0] = '\0';
    return 0;
}

void hpcb_spank_dying_watch(const hpcb_step_t *step, pid_t pid)
{
    hpcb_error_t err;

    if (step->klass != HPCB_CLASS_GUEST || !step->node)
        return;
    /* Of the extern step only slurmstepd matters. */
    if (!step->tasks && !hpcb_spank_stepd_lifted())
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
