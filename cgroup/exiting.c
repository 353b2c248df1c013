/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/life.h"
#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "cgroup/exiting.h"

#define DEPTH_MAX   8    /* job_N/step_N/user/task_N is 4 */
#define THREADS_MAX 4096 /* per round */
#define LOWER_MAX   512  /* processes per call */

/* Microseconds of each second: for all guests of the node together, and for one job.
 * If so much is not available, because other groups have it, half of it is tried, and
 * so on. */
#define BUDGET_ALL   200000u
#define BUDGET_JOB   50000u
#define BUDGET_LEAST 5000u

/* No child inherits it. */
#define LIFTED (SCHED_FIFO | SCHED_RESET_ON_FORK)

/* In which a killed thread that is SCHED_FIFO comes to the kernel's do_exit. */
#define GRACE_NS 10000000

typedef struct walk {
    bool (*visit)(struct walk *walk, pid_t pid); /* false: enough */
    size_t budget;                               /* rest of the processes to scan */
    const char *group;
    bool refused;
    bool killed;         /* lift_process: has lifted threads that are not exiting yet */
    bool dying;          /* lower_process: also what is dying */
    size_t skip;         /* lower_process: processes before the first one */
    char self[PATH_MAX]; /* slurmstepd's program */
} walk_t;

static void grant(const char *dir, unsigned budget)
{
    char path[PATH_MAX + 32], text[32];

    snprintf(path, sizeof(path), "%s/cpu.rt_runtime_us", dir);
    if (hpcb_file_read(path, text, sizeof(text), NULL) < 0 || strcmp(text, "0\n") != 0)
        return;
    for (; budget >= BUDGET_LEAST; budget /= 2) {
        snprintf(text, sizeof(text), "%u", budget);
        if (hpcb_file_write(path, text, NULL) == 0)
            return;
    }
}

/* Only groups of ours get a budget; it goes with them. */
static void grant_budgets(const char *group)
{
    char above[PATH_MAX];

    if (!strrchr(group, '/') || strlen(group) >= sizeof(above))
        return;
    strcpy(above, group);
    *strrchr(above, '/') = '\0';
    grant(above, BUDGET_ALL);
    grant(group, BUDGET_JOB);
}

static int lift_thread(pid_t tid)
{
    const struct sched_param param = {.sched_priority = 1};

    return sched_setscheduler(tid, LIFTED, &param);
}

static void lift_or_grant(walk_t *walk, pid_t tid)
{
    if (lift_thread(tid) == 0 || errno != EPERM)
        return;
    grant_budgets(walk->group);
    if (lift_thread(tid) < 0 && errno == EPERM)
        walk->refused = true;
}

/* The ID may belong to another thread by now, so only raised threads are lowered. */
static void let_down(pid_t tid)
{
    const struct sched_param param = {.sched_priority = 0};

    if (sched_getscheduler(tid) == LIFTED)
        (void)sched_setscheduler(tid, SCHED_OTHER, &param);
}

static void lift_threads(walk_t *walk, pid_t pid, const pid_t *tids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hpcb_life_t life = hpcb_life_of_thread(pid, tids[i]);

        if (life == HPCB_GONE)
            continue;
        lift_or_grant(walk, tids[i]);
        walk->killed |= life == HPCB_ALIVE;
    }
}

/*
 * A dying process stays dead, but its ID may be reused between check and change, so it
 * is checked after the change as well.
 */
static bool lift_process(walk_t *walk, pid_t pid)
{
    hpcb_autofree pid_t *tids = NULL;
    size_t count;
    uint64_t before, after;

    if (hpcb_task_start(pid, &before) < 0 || !hpcb_life_over(pid) ||
        hpcb_task_threads(pid, &tids, &count, NULL) < 0)
        return true;
    if (count > walk->budget)
        count = walk->budget;
    walk->budget -= count;
    lift_threads(walk, pid, tids, count);
    if (hpcb_task_start(pid, &after) == 0 && after == before && hpcb_life_over(pid))
        return walk->budget > 0;
    for (size_t i = 0; i < count; i++)
        let_down(tids[i]);
    return walk->budget > 0;
}

/*
 * A killed thread that waits for a futex with priority inheritance (FUTEX_LOCK_PI)
 * stays in its queue until it comes to run, and as long as it is SCHED_FIFO the kernel
 * runs the owner as that: a thread that lives, of any process that shares the memory.
 * Who is exiting waits for no futex any more.
 */
static bool let_down_killed(walk_t *walk, pid_t pid)
{
    hpcb_autofree pid_t *tids = NULL;
    size_t count = 0;

    /* Not slurmstepd, which spank/stepd.c lifts. */
    if (!hpcb_life_over(pid) || hpcb_task_threads(pid, &tids, &count, NULL) < 0)
        return true;
    if (count > walk->budget)
        count = walk->budget;
    walk->budget -= count;
    for (size_t i = 0; i < count; i++) {
        if (hpcb_life_of_thread(pid, tids[i]) == HPCB_ALIVE)
            let_down(tids[i]);
    }
    return walk->budget > 0;
}

/* Slurm may have been upgraded since it was started. */
static void cut_deleted(char *program)
{
    static const char deleted[] = " (deleted)";
    size_t length = strlen(program), tail = strlen(deleted);

    if (length > tail && strcmp(program + length - tail, deleted) == 0)
        program[length - tail] = '\0';
}

static int program_of(pid_t pid, char *program, size_t size)
{
    char link[64];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    n = readlink(link, program, size - 1);
    if (n < 0)
        return -1;
    program[n] = '\0';
    cut_deleted(program);
    return 0;
}

/* Root's, by the real user id: a user may run slurmstepd with other code in it. */
static bool is_slurmstepd(const walk_t *walk, pid_t pid)
{
    char program[PATH_MAX];
    unsigned long long uid;

    return program_of(pid, program, sizeof(program)) == 0 &&
           strcmp(program, walk->self) == 0 &&
           hpcb_life_status(pid, pid, "\nUid:", 10, &uid) == 0 && uid == 0;
}

static bool lower_process(walk_t *walk, pid_t pid)
{
    if (walk->skip > 0) {
        walk->skip--;
        return true;
    }
    if (walk->budget == 0)
        return false;
    walk->budget--;
    if (hpcb_task_realtime(pid) && !is_slurmstepd(walk, pid) &&
        (walk->dying || !hpcb_life_over(pid)))
        (void)hpcb_task_end_realtime(pid, NULL);
    return true;
}

static bool is_exiting(walk_t *walk, pid_t pid)
{
    if (walk->budget == 0)
        return false;
    walk->budget--;
    return hpcb_life_over(pid) || is_slurmstepd(walk, pid);
}

static bool walk_group(walk_t *walk, const char *dir)
{
    char path[PATH_MAX + 32];
    bool more = true;
    FILE *file;
    int pid;

    snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
    file = fopen(path, "re");
    while (file && more && fscanf(file, "%d", &pid) == 1)
        more = walk->visit(walk, pid);
    if (file)
        fclose(file);
    return more;
}

static bool walk_tree(walk_t *walk, const char *dir, int depth)
{
    hpcb_autoclosedir DIR *handle = opendir(dir);
    struct dirent *entry;
    bool more = walk_group(walk, dir);

    if (depth == DEPTH_MAX)
        return walk->visit != is_exiting;

    while (handle && more && (entry = readdir(handle))) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);

        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && n < (int)sizeof(path))
            more = walk_tree(walk, path, depth + 1);
    }
    return more;
}

int hpcb_exiting_lift(const char *dir, const char *group)
{
    walk_t walk = {.visit = lift_process, .budget = THREADS_MAX, .group = group};

    walk_tree(&walk, dir, 0);
    if (walk.killed) {
        const struct timespec grace = {.tv_nsec = GRACE_NS};
        walk_t again = {.visit = let_down_killed, .budget = THREADS_MAX};

        nanosleep(&grace, NULL);
        walk_tree(&again, dir, 0);
    }
    return walk.refused ? -1 : 0;
}

size_t hpcb_exiting_lower(const char *dir, bool dying, size_t from)
{
    walk_t walk = {
        .visit = lower_process, .dying = dying, .skip = from, .budget = LOWER_MAX};

    if (program_of(getpid(), walk.self, sizeof(walk.self)) < 0)
        return 0;
    return walk_tree(&walk, dir, 0) ? 0 : from + LOWER_MAX;
}

bool hpcb_exiting_all(const char *dir)
{
    walk_t walk = {.visit = is_exiting, .budget = THREADS_MAX};

    return program_of(getpid(), walk.self, sizeof(walk.self)) == 0 &&
           walk_tree(&walk, dir, 0);
}
