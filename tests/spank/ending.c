/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/spank/ending.h"

#define PF_EXITING 0x4

static pid_t holder, held;

static unsigned flags_of(pid_t pid)
{
    char path[64], text[1024];
    unsigned flags = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (!fgets(text, sizeof(text), file) ||
        sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
        flags = 0;
    fclose(file);
    return flags;
}

static pid_t sleeper(void)
{
    pid_t pid = fork();

    while (pid == 0)
        pause();
    return pid;
}

/* The first child of a new namespace is its init, the second one is not reaped. */
static void __attribute__((noreturn)) hold(int out)
{
    pid_t init = -1, other;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWPID) == 0) {
        init = sleeper();
        other = sleeper();
        if (init < 0 || other < 0 || kill(init, SIGKILL) < 0)
            init = -1;
    }
    if (write(out, &init, sizeof(init)) != sizeof(init))
        _exit(1);
    for (;;)
        pause();
}

pid_t ending_begin(void)
{
    int fd[2];

    ck_assert_int_eq(pipe(fd), 0);
    holder = fork();
    if (holder == 0)
        hold(fd[1]);
    ck_assert_int_eq(read(fd[0], &held, sizeof(held)), sizeof(held));
    close(fd[0]);
    close(fd[1]);
    if (held < 0) {
        ending_end();
        return -1;
    }
    while (!(flags_of(held) & PF_EXITING))
        usleep(1000);
    return held;
}

void ending_end(void)
{
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    while (held > 0 && kill(held, 0) == 0)
        usleep(1000);
    held = -1;
}

pid_t ending_zombie(void)
{
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    return pid;
}
