/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
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

/* Rounds of the watching thread (2 s each) after which it looks without being told:
 * a primary may bind its threads anew at any time. */
#define ROUNDS_MAX 15
/* Rounds after which it looks once more when it was told: a primary's task may not have
 * been bound yet. */
#define ROUNDS_MORE 2
/* How long where primaries are counts as known: a step of many tasks asks once. */
#define HELD_MS 500
/* A guest that has lost its cookie this often does it on purpose. */
#define LOSSES_MAX 2

typedef struct {
    pid_t pid;
    uint64_t start;
    hpcb_siblings_task_t task;
} guest_task_t;

/* Of this step; between slurmstepd's main thread and the watching one. */
static struct {
    pthread_mutex_t lock;
    guest_task_t *tasks;
    size_t count;
    struct timespec seen; /* time stamp of placement at the last look */
    bool have_cores;
    hpcb_cores_t cores;
    hpcb_cpus_t held;
    int64_t held_ms; /* when held was found, 0: never */
    unsigned rounds; /* since the last look */
    unsigned more;   /* until one that is due because of the last; 0: none */
    unsigned losses;
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

/* Primaries come and go even where this file cannot be written: see ROUNDS_MAX. */
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

/* Whether placement was touched since the last time; always the first time. */
static bool told(const hpcb_step_t *step)
{
    char path[PATH_MAX];
    struct stat status;

    if (placement_path(step, path, sizeof(path)) < 0 || stat(path, &status) < 0 ||
        (status.st_mtim.tv_sec == guest.seen.tv_sec &&
         status.st_mtim.tv_nsec == guest.seen.tv_nsec))
        return false;
    guest.seen = status.st_mtim;
    guest.held_ms = 0;
    return true;
}

/* With the lock held. */
static guest_task_t *remember(pid_t pid)
{
    guest_task_t *larger =
        reallocarray(guest.tasks, guest.count + 1, sizeof(*guest.tasks));
    guest_task_t *task;

    if (!larger)
        return NULL;
    guest.tasks = larger;
    task = &guest.tasks[guest.count];
    memset(task, 0, sizeof(*task));
    task->pid = pid;
    if (hpcb_task_start(pid, &task->start) < 0)
        return NULL;
    /* The step's cpuset, which the first task's plan may have narrowed already. */
    if (guest.count > 0 && guest.tasks[0].task.group) {
        task->task.based = task->task.group = true;
        task->task.base = guest.tasks[0].task.base;
    }
    guest.count++;
    return task;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What is the same for all tasks of the step. */
static void recall(const hpcb_target_t *target, hpcb_siblings_want_t *want)
{
    if (!guest.have_cores)
        guest.have_cores = hpcb_node_cores(target->node, &guest.cores, NULL) == 0;
    if (guest.have_cores)
        want->cores = &guest.cores;
    if (!want->cores || !want->cores->smt)
        return;
    if (!guest.held_ms || now_ms() - guest.held_ms > HELD_MS) {
        if (hpcb_held_cpus(target, &guest.held, NULL) < 0)
            return;
        guest.held_ms = now_ms();
    }
    want->held = &guest.held;
}

static void lower(const hpcb_step_t *step, guest_task_t *task)
{
    static bool complained;
    hpcb_siblings_want_t want = want_of(&step->conf);
    hpcb_target_t target = target_of(step, task->pid, NULL);
    hpcb_undo_t *undo = NULL;
    hpcb_error_t err;

    recall(&target, &want);
    if (want.cores && !want.cores->smt)
        return;
    if (hpcb_undo_open(step->conf.state_dir, step->job_id, &undo, &err) < 0 &&
        hpcb_undo_open(NULL, step->job_id, &undo, &err) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "%s", err.text);
    target.undo = undo;
    if (hpcb_siblings_lower(&target, &want, &task->task, &err) < 0)
        hpcb_log_once(&complained, HPCB_LOG_INFO,
                      "guest job %u: it may run beside primaries on one core: %s",
                      step->job_id, err.text);
    hpcb_undo_close(undo);
}

void hpcb_spank_siblings_task(const hpcb_step_t *step, pid_t pid)
{
    guest_task_t *task;

    if (!step->node)
        return;
    if (step->klass != HPCB_CLASS_GUEST) {
        if (step->tasks)
            tell_guests(step);
        return;
    }
    if (step->conf.guest_siblings == HPCB_GUEST_SIBLINGS_NONE)
        return;
    pthread_mutex_lock(&guest.lock);
    told(step);
    task = remember(pid);
    if (task)
        lower(step, task);
    pthread_mutex_unlock(&guest.lock);
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
    pid_t who = 0;
    unsigned mended = hpcb_siblings_mend(&target, &who);

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
    for (size_t i = 0; i < guest.count; i++) {
        if (lives(&guest.tasks[i]))
            punish(step, guest.tasks[i].pid);
    }
}

/* `hpcbctl release` (or the job's end) has taken the undo log away, and with it what we
 * did: then nothing is done again. */
static bool released(const hpcb_step_t *step)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/jobs/%u.undo", step->conf.state_dir,
                     step->job_id);

    return n < 0 || (size_t)n >= sizeof(path) || access(path, F_OK) < 0;
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
    guest.held_ms = 0;
    return true;
}

static void renew(const hpcb_step_t *step)
{
    const guest_task_t *carrier = NULL;
    bool again = due(step);

    for (size_t i = 0; i < guest.count; i++) {
        guest_task_t *task = &guest.tasks[i];

        if (!lives(task))
            continue;
        if (again)
            lower(step, task);
        if (task->task.plan.cookie)
            carrier = task;
    }
    if (carrier)
        look_at_cookies(step, carrier);
}

void hpcb_spank_siblings_renew(const hpcb_step_t *step)
{
    pthread_mutex_lock(&guest.lock);
    if (guest.count > 0 && !released(step))
        renew(step);
    pthread_mutex_unlock(&guest.lock);
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
    free(guest.tasks);
    guest.tasks = NULL;
    guest.count = 0;
}
