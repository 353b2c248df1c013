/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/crash.h"

#define CRASHED   99
#define CALLS_MAX 100

static int calls_left; /* 0: never crash */
static void (*others)(void);
static const char *slow_dir; /* NULL: none is */

static void step(void)
{
    if (calls_left == 0 || --calls_left > 0)
        return;
    if (!others)
        _exit(CRASHED);
    others();
}

#define WRAP(name, parameters, arguments)                                              \
    int __real_##name parameters;                                                      \
    int __wrap_##name parameters;                                                      \
    int __wrap_##name parameters                                                       \
    {                                                                                  \
        step();                                                                        \
        return __real_##name arguments;                                                \
    }

WRAP(mkostemp, (char *path, int flags), (path, flags))
WRAP(fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(close, (int fd), (fd))
WRAP(rename, (const char *from, const char *to), (from, to))
WRAP(link, (const char *from, const char *to), (from, to))
WRAP(renameat, (int from_dir, const char *from, int to_dir, const char *to),
     (from_dir, from, to_dir, to))
WRAP(unlink, (const char *path), (path))
WRAP(unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
WRAP(mkdir, (const char *path, mode_t mode), (path, mode))

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    char link[32], path[PATH_MAX] = "";

    step();
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (slow_dir && readlink(link, path, sizeof(path) - 1) > 0 &&
        strncmp(path, slow_dir, strlen(slow_dir)) == 0)
        _exit(CRASHED);
    return __real_fsync(fd);
}

void crash_in_fsync(const char *dir)
{
    slow_dir = dir;
}

ssize_t __real_write(int fd, const void *buf, size_t size);
ssize_t __wrap_write(int fd, const void *buf, size_t size);

/* A write counts twice: the process may also die when half of it is there. */
ssize_t __wrap_write(int fd, const void *buf, size_t size)
{
    step();
    if (calls_left == 1 && !others && __real_write(fd, buf, size / 2) < 0)
        _exit(CRASHED);
    step();
    return __real_write(fd, buf, size);
}

int crash_everywhere(void (*act)(void), void (*check)(void))
{
    for (int calls = 1; calls < CALLS_MAX; calls++) {
        pid_t pid = fork();
        int status;

        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            calls_left = calls;
            act();
            _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status));
        check();
        if (WEXITSTATUS(status) == 0)
            return calls - 1;
        ck_assert_int_eq(WEXITSTATUS(status), CRASHED);
    }
    ck_abort_msg("more system calls than expected");
    return -1;
}

int stop_everywhere(void (*act)(void), void (*meanwhile)(void), void (*check)(void))
{
    others = meanwhile;
    for (int calls = 1; calls < CALLS_MAX; calls++) {
        calls_left = calls;
        act();
        check();
        if (calls_left > 0) {
            others = NULL;
            calls_left = 0;
            return calls - 1;
        }
    }
    ck_abort_msg("more system calls than expected");
    return -1;
}
