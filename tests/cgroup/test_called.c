/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Signals that wait for processes (cgroup/called.c): real processes, in files of the
 * test's that stand for groups. */
#include "config.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/called.h"
#include "tests/common/scratch.h"

/* What the kernel gives nobody: above its PID_MAX_LIMIT. */
#define NOBODY 5000000

static pid_t child;

/* A process that a signal waits for, or would if it did not ignore it. */
static void start_child(int signo, bool ignores)
{
    sigset_t all, before;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    if (ignores)
        signal(signo, SIG_IGN);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    signal(signo, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(kill(child, signo), 0);
}

static void end_child(void)
{
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

/* A group of that name with so many processes, of which the child is one. */
static void put_group(const char *name, unsigned before, unsigned after)
{
    char dir[PATH_MAX], path[PATH_MAX + 16];
    FILE *procs;

    strcpy(dir, scratch(name));
    ck_assert_int_eq(mkdir(dir, 0755), 0);
    snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
    procs = fopen(path, "w");
    ck_assert_ptr_nonnull(procs);
    for (unsigned i = 0; i < before; i++)
        fprintf(procs, "%d\n", NOBODY);
    fprintf(procs, "%d\n", (int)child);
    for (unsigned i = 0; i < after; i++)
        fprintf(procs, "%d\n", NOBODY);
    ck_assert_int_eq(fclose(procs), 0);
}

static bool is_called(const char *name, unsigned budget)
{
    return hpcb_called(scratch(name), &budget);
}

START_TEST(a_signal_waits)
{
    start_child(SIGTERM, false);
    put_group("guest", 0, 0);
    ck_assert(is_called("guest", 100));
    put_group("above", 0, 0);
    put_group("above/below", 0, 0);
    ck_assert(is_called("above", 100));
    end_child();
    ck_assert(!is_called("guest", 100));
}
END_TEST

/* The group's file is longer than any buffer that a reader would think of. */
START_TEST(a_group_of_5000_processes)
{
    start_child(SIGTERM, false);
    put_group("first", 0, 4999);
    ck_assert(is_called("first", 100));
    put_group("last", 4999, 0);
    ck_assert(is_called("last", 6000));
    end_child();
}
END_TEST

START_TEST(no_more_than_the_budget)
{
    unsigned budget = 100;

    start_child(SIGTERM, false);
    put_group("guest", 99, 0);
    ck_assert(!hpcb_called(scratch("guest"), &budget));
    ck_assert_uint_eq(budget, 0);
    ck_assert(is_called("guest", 101));
    end_child();
}
END_TEST

START_TEST(who_ignores_it_or_is_told_something_else)
{
    start_child(SIGTERM, true);
    put_group("ignores", 0, 0);
    ck_assert(!is_called("ignores", 100));
    end_child();
    start_child(SIGCHLD, false);
    put_group("child", 0, 0);
    ck_assert(!is_called("child", 100));
    end_child();
    ck_assert(!is_called("no such group", 100));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("called");
    TCase *tcase = scratch_case("called");

    tcase_add_test(tcase, a_signal_waits);
    tcase_add_test(tcase, a_group_of_5000_processes);
    tcase_add_test(tcase, no_more_than_the_budget);
    tcase_add_test(tcase, who_ignores_it_or_is_told_something_else);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
