/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Overview: primaries notify the guests of the node (placement file); the step's tasks
 * and the known state of the node, under a lock; lowering one task; the first time
 * (hpcb_spank_siblings_task, main thread), and again (hpcb_spank_siblings_renew, the
 * watching thread) with a check of the cookies.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/cores.h"
#include "cgroup/held.h"
#include "cgroup/siblings.h"
#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "spank/siblings.h"

/* Rounds of the watching thread (2 s each) after which it checks without a
 * notification: a primary may bind its threads anew at any time. */
#define ROUNDS_MAX 15
/* Rounds after which it checks once more after a notification: a primary's task may not
 * have been bound yet. */
#define ROUNDS_MORE 2
/* How long the CPUs of primaries count as known: a step of many tasks reads them
 * once. */
#define HELD_MS 500
/* A guest that has lost its cookie this often does it on purpose. */
#define LOSSES_MAX 2

typedef struct {
    pid_t pid;
    uint64_t start;
    hpcb_siblings_task_t task;
} guest_task_t;

/*
 * Tasks of this step.  slurmstepd's main thread adds tasks, the watching one scans
 * them; each works on copies, and holds the lock only while it copies, so that nothing
 * waits for a scan of the node.
 */
static struct {
    pthread_mutex_t lock;
    guest_task_t *tasks; /* added by the main thread, then the watching one's */
    size_t count;
    hpcb_cores_t *cores; /* NULL: not known yet; never changes */
    hpcb_cpus_t held;
    int64_t held_ms;         /* time when held was read, 0: never */
    struct timespec held_at; /* time stamp of placement then */
    bool complained;         /* each of the two once a step */
    bool complained_of_log;
    bool had_log; /* the undo log was there once */
    /* The watching thread's, once it runs. */
    struct timespec seen; /* time stamp of placement at the last check */
    unsigned rounds;      /* since the last check */
    unsigned more;        /* until one that is due because of the last; 0: none */
    unsigned losses;
    unsigned mend_from; /* hpcb_siblings_mend */
} guest = {.lock = PTHREAD_MUTEX_INITIALIZER};

static hpcb_siblings_want_t want_of(const hpcb_conf_t *conf)
{
    hpcb_guest_siblings_t mode = conf->guest_siblings;
    bool all = mode == HPCB_GUEST_SIBLINGS_AUTO;

    return (hpcb_siblings_want_t){
        .cookie = all || mode == HPCB_GUEST_SIBLINGS_COOKIE,
        .avoid = all || mode == HPCB_GUEST_SIBLINGS_AVOID,
        .throttle = all || mode == HPCB_GUEST_SIBLINGS_THROTTLE,
        .difference = conf->guest_sibling_difference,
    };
}

static hpcb_target_t target_of(const hpcb_step_t *step, pid_t pid, hpcb_undo_t *undo)
{
    return (hpcb_target_t){.node = step->node,
                           .pid = pid,
                           .job_id = step->job_id,
                           .guest_cgroup = step->conf.guest_cgroup,
                           .undo = undo};
}

static int placement_path(const hpcb_step_t *step, char *path, size_t size)
{
    int n = snprintf(path, size, "%s/placement", step->conf.state_dir);

    return n < 0 || (size_t)n >= size ? -1 : 0;
}

/* Primaries start and end also if this file cannot be written: see ROUNDS_MAX. */
static void tell_guests(const hpcb_step_t *step)
{
    hpcb_autoclose int fd = -1;
    char path[PATH_MAX];

    if (placement_path(step, path, sizeof(path)) < 0)
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (fd < 0 || futimens(fd, NULL) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s: %s", path, strerror(errno));
}

/* All zero where there is none. */
static struct timespec placement_time(const hpcb_step_t *step)
{
    char path[PATH_MAX];
    struct stat status;

    if (placement_path(step, path, sizeof(path)) < 0 || stat(path, &status) < 0)
        return (struct timespec){0};
    return status.st_mtim;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Return whether placement was touched since the last time; always true the first
 * time. */
static bool told(const hpcb_step_t *step)
{
    struct timespec now = placement_time(step);

    if (now.tv_sec == 0 || same_time(&now, &guest.seen))
        return false;
    guest.seen = now;
    return true;
}

static bool copy_task(size_t i, guest_task_t *task)
{
    bool there;

    pthread_mutex_lock(&guest.lock);
    there = i < guest.count;
    if (there)
        *task = guest.tasks[i];
    pthread_mutex_unlock(&guest.lock);
    return there;
}

/* i came from copy_task, and tasks are never taken away. */
static void put_task(size_t i, const guest_task_t *task)
{
    pthread_mutex_lock(&guest.lock);
    guest.tasks[i] = *task;
    pthread_mutex_unlock(&guest.lock);
}

static int add_task(const guest_task_t *task)
{
    guest_task_t *larger;

    pthread_mutex_lock(&guest.lock);
    larger = reallocarray(guest.tasks, guest.count + 1, sizeof(*larger));
    if (larger) {
        larger[guest.count++] = *task;
        guest.tasks = larger;
    }
    pthread_mutex_unlock(&guest.lock);
    return larger ? 0 : -1;
}

static int make_task(pid_t pid, guest_task_t *task)
{
    guest_task_t first;

    memset(task, 0, sizeof(*task));
    task->pid = pid;
    if (hpcb_task_start(pid, &task->start) < 0)
        return -1;
    /* The step's cpuset, which the first task's plan may have narrowed already. */
    if (copy_task(0, &first) && first.task.group) {
        task->task.based = task->task.group = true;
        task->task.base = first.task.base;
    }
    return 0;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static const hpcb_cores_t *known_cores(const hpcb_node_t *node)
{
    hpcb_cores_t *cores, *made = NULL;

    pthread_mutex_lock(&guest.lock);
    cores = guest.cores;
    pthread_mutex_unlock(&guest.lock);
    if (cores)
        return cores;
    made = malloc(sizeof(*made));
    if (!made || hpcb_node_cores(node, made, NULL) < 0) {
        free(made);
        return NULL;
    }
    pthread_mutex_lock(&guest.lock);
    cores = guest.cores;
    if (!cores)
        cores = guest.cores = made;
    pthread_mutex_unlock(&guest.lock);
    if (cores != made)
        free(made);
    return cores;
}

static int known_held(const hpcb_step_t *step, const hpcb_target_t *target,
                      hpcb_cpus_t *held)
{
    struct timespec at = placement_time(step);
    bool fresh;

    pthread_mutex_lock(&guest.lock);
    fresh = guest.held_ms && now_ms() - guest.held_ms <= HELD_MS &&
            same_time(&at, &guest.held_at);
    if (fresh)
        *held = guest.held;
    pthread_mutex_unlock(&guest.lock);
    if (fresh)
        return 0;
    if (hpcb_held_cpus(target, held, NULL) < 0)
        return -1;
    pthread_mutex_lock(&guest.lock);
    guest.held = *held;
    guest.held_ms = now_ms();
    guest.held_at = at;
    pthread_mutex_unlock(&guest.lock);
    return 0;
}

/* Return whether *said was false. */
static bool first_time(bool *said)
{
    bool first;

    pthread_mutex_lock(&guest.lock);
    first = !*said;
    *said = true;
    pthread_mutex_unlock(&guest.lock);
    return first;
}

static void complain(const hpcb_step_t *step, const hpcb_error_t *err)
{
    if (first_time(&guest.complained))
        hpcb_log(HPCB_LOG_INFO,
                 "guest job %u: it may run beside primaries on one core: %s",
                 step->job_id, err->text);
}

static void complain_of_log(const hpcb_step_t *step)
{
    if (first_time(&guest.complained_of_log))
        hpcb_log(
            HPCB_LOG_ERROR,
            "guest job %u: the undo log cannot be written, its tasks are kept from "
            "running beside primaries without it",
            step->job_id);
}

static void lower(const hpcb_step_t *step, guest_task_t *task)
{
    hpcb_siblings_want_t want = want_of(&step->conf);
    hpcb_target_t target = target_of(step, task->pid, NULL);
    hpcb_undo_t *undo = NULL;
    hpcb_cpus_t held;
    hpcb_error_t err;

    want.cores = known_cores(step->node);
    if (want.cores && !want.cores->smt)
        return;
    if (want.cores && known_held(step, &target, &held) == 0)
        want.held = &held;
    if (hpcb_undo_open(step->conf.state_dir, step->job_id, &undo, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
    target.undo = undo;
    if (hpcb_siblings_lower(&target, &want, &task->task, &err) < 0)
        complain(step, &err);
    if (task->task.unlogged)
        complain_of_log(step);
    hpcb_undo_close(undo);
}

/* `hpcbctl release` (or the job's end) has taken the undo log away, and with it what we
 * did: then nothing is done again.  One that could never be written says nothing. */
static bool released(const hpcb_step_t *step)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/jobs/%u.undo", step->conf.state_dir,
                     step->job_id);
    bool there = n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0;
    bool gone;

    pthread_mutex_lock(&guest.lock);
    guest.had_log |= there;
    gone = guest.had_log && !there;
    pthread_mutex_unlock(&guest.lock);
    return gone;
}

void hpcb_spank_siblings_task(const hpcb_step_t *step, pid_t pid)
{
    guest_task_t task;

    if (!step->node)
        return;
    if (step->klass != HPCB_CLASS_GUEST) {
        if (step->tasks)
            tell_guests(step);
        return;
    }
    if (step->conf.guest_siblings == HPCB_GUEST_SIBLINGS_NONE)
        return;
    /* The watching thread starts after the first task. */
    if (!copy_task(0, &task))
        (void)told(step);
    if (make_task(pid, &task) < 0)
        return;
    lower(step, &task);
    (void)released(step);
    if (add_task(&task) == 0)
        return;
    hpcb_log(HPCB_LOG_DEBUG, "no memory to watch over task %ld", (long)pid);
    hpcb_siblings_forget(&task.task);
}

static bool lives(const guest_task_t *task)
{
    uint64_t start;

    return hpcb_task_start(task->pid, &start) == 0 && start == task->start;
}

static void punish(const hpcb_step_t *step, pid_t pid)
{
    const hpcb_siblings_want_t want = want_of(&step->conf);
    hpcb_target_t target = target_of(step, pid, NULL);
    hpcb_error_t err;

    if (hpcb_siblings_punish(&target, &want, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
}

/* Cookies are taken off by users only (cgroup/mechanism_core.c), or never were on: a
 * login that pam_slurm_adopt has put into the job. */
static void look_at_cookies(const hpcb_step_t *step, const guest_task_t *task)
{
    hpcb_target_t target = target_of(step, task->pid, NULL);
    guest_task_t other;
    pid_t who = 0;
    unsigned mended = hpcb_siblings_mend(&target, &guest.mend_from, &who);

    if (mended == 0)
        return;
    if (guest.losses++ == 0)
        hpcb_log(HPCB_LOG_INFO,
                 "guest job %u of user %u: %u processes (one is %d) had no "
                 "core-scheduling cookie and have it again",
                 step->job_id, (unsigned)step->uid, mended, (int)who);
    if (guest.losses < LOSSES_MAX)
        return;
    if (guest.losses == LOSSES_MAX)
        hpcb_log(HPCB_LOG_INFO,
                 "guest job %u of user %u takes its cookies off: it is throttled",
                 step->job_id, (unsigned)step->uid);
    for (size_t i = 0; copy_task(i, &other); i++) {
        if (lives(&other))
            punish(step, other.pid);
    }
}

static bool due(const hpcb_step_t *step)
{
    bool now = told(step);
    bool more = guest.more > 0 && --guest.more == 0;

    if (!now && !more && ++guest.rounds < ROUNDS_MAX)
        return false;
    if (now)
        guest.more = ROUNDS_MORE;
    guest.rounds = 0;
    return true;
}

void hpcb_spank_siblings_renew(const hpcb_step_t *step)
{
    guest_task_t task, carrier;
    bool again, carried = false;

    if (!copy_task(0, &task) || released(step))
        return;
    again = due(step);
    for (size_t i = 0; copy_task(i, &task); i++) {
        if (!lives(&task))
            continue;
        if (again) {
            lower(step, &task);
            put_task(i, &task);
        }
        if (task.task.plan.cookie) {
            carrier = task;
            carried = true;
        }
    }
    if (carried)
        look_at_cookies(step, &carrier);
}

int hpcb_spank_siblings_verify(const hpcb_step_t *step, hpcb_error_t *err)
{
    hpcb_target_t target = target_of(step, getpid(), NULL);

    if (!step->conf.guest_siblings_required)
        return 0;
    return hpcb_siblings_state(&target, err) ? 0 : -1;
}

void hpcb_spank_siblings_exit(const hpcb_step_t *step)
{
    if (step->klass != HPCB_CLASS_GUEST && step->node && step->tasks)
        tell_guests(step);
    for (size_t i = 0; i < guest.count; i++)
        hpcb_siblings_forget(&guest.tasks[i].task);
    free(guest.tasks);
    free(guest.cores);
    guest.tasks = NULL;
    guest.cores = NULL;
    guest.count = 0;
}
