/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/life.h"
#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/file.h"

#define PF_EXITING 0x4 /* linux/sched.h; in /proc/PID/stat since Linux 2.6 */

/* Threads end while they are counted: maximum number of scans of a process. */
#define LOOKS 3

/* Of /proc/PID/stat. */
typedef struct {
    char state;
    unsigned flags;
    unsigned long threads; /* of the process, those that have ended aside */
} stat_t;

static int read_stat(pid_t pid, pid_t tid, stat_t *stat)
{
    char path[64], text[1024];
    const char *rest;
    stat_t found;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    if (hpcb_file_read(path, text, sizeof(text), NULL) < 0)
        return -1;
    /* The name in parentheses may hold anything. */
    rest = strrchr(text, ')');
    if (!rest ||
        sscanf(rest + 1,
               " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
               "%lu",
               &found.state, &found.flags, &found.threads) != 3) {
        errno = EINVAL;
        return -1;
    }
    *stat = found;
    return 0;
}

hpcb_life_t hpcb_life_of_thread(pid_t pid, pid_t tid)
{
    stat_t stat;

    if (read_stat(pid, tid, &stat) < 0)
        return errno == ENOENT || errno == ESRCH ? HPCB_GONE : HPCB_ALIVE;
    /* A zombie, or about to leave /proc: the kernel has taken it apart. */
    if (strchr("ZXx", stat.state))
        return HPCB_GONE;
    return stat.flags & PF_EXITING ? HPCB_EXITING : HPCB_ALIVE;
}

hpcb_life_t hpcb_life(pid_t pid)
{
    hpcb_life_t life = hpcb_life_of_thread(pid, pid);
    hpcb_autofree pid_t *tids = NULL;
    size_t count = 0;

    if (life == HPCB_ALIVE || hpcb_task_threads(pid, &tids, &count, NULL) < 0)
        return life;
    for (size_t i = 0; i < count; i++) {
        hpcb_life_t one = hpcb_life_of_thread(pid, tids[i]);

        if (one == HPCB_ALIVE)
            return HPCB_ALIVE;
        if (one == HPCB_EXITING)
            life = HPCB_EXITING;
    }
    return life;
}

int hpcb_life_status(pid_t pid, pid_t tid, const char *name, int base,
                     unsigned long long *value)
{
    char path[64], text[8192];
    const char *line;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
    if (hpcb_file_read(path, text, sizeof(text), NULL) < 0)
        return -1;
    line = strstr(text, name);
    if (!line)
        return -1;
    *value = strtoull(line + strlen(name), NULL, base);
    return 0;
}

/* Has ended, exits, or has been killed and had no time yet to exit: this thread does
 * not return to user code.  Its id may: see hpcb_life_over. */
static bool dies(pid_t pid, pid_t tid)
{
    unsigned long long pending;

    if (hpcb_life_of_thread(pid, tid) != HPCB_ALIVE)
        return true;
    return hpcb_life_status(pid, tid, "\nSigPnd:", 16, &pending) == 0 &&
           (pending & (1ULL << (SIGKILL - 1)));
}

static bool all_die(pid_t pid, const pid_t *tids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!dies(pid, tids[i]))
            return false;
    }
    return true;
}

static bool is_listed(pid_t tid, const pid_t *tids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tids[i] == tid)
            return true;
    }
    return false;
}

/*
 * The list of threads may lack some: it ends early if a thread ends while it is read.
 * Those that are found dying before and after the kernel has counted were all counted.
 * A thread that calls execve leaves its id and takes the leader's: then the list may
 * have only the id that is gone, and lacks the leader's.
 */
static bool whole_list_dies(pid_t pid, const pid_t *tids, size_t count)
{
    stat_t stat;

    return is_listed(pid, tids, count) && all_die(pid, tids, count) &&
           read_stat(pid, pid, &stat) == 0 && stat.threads == count &&
           all_die(pid, tids, count);
}

/* /proc says so of a process in which a thread calls execve, too. */
static bool is_gone(pid_t pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}

bool hpcb_life_over(pid_t pid)
{
    for (int i = 0; i < LOOKS; i++) {
        hpcb_autofree pid_t *tids = NULL;
        size_t count = 0;

        if (hpcb_task_threads(pid, &tids, &count, NULL) < 0 && is_gone(pid))
            return true;
        if (whole_list_dies(pid, tids, count))
            return true;
    }
    return false;
}
