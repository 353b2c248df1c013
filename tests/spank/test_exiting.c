/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What spank/exiting.c lifts while ids change hands: a thread that calls execve takes
 * over the id of its leader, and a new process may get the id of an old one.  Both are
 * made to happen where they hurt most, between the look and sched_setscheduler, which
 * this program defines itself; where SCHED_FIFO is not permitted it sets SCHED_BATCH.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/task.h"
#include "spank/exiting.h"
#include "tests/common/tmp.h"

#define TRIES  200
#define LIFTED (SCHED_FIFO | SCHED_RESET_ON_FORK)

static char dir[TEST_TMP_MAX];
static bool instead; /* SCHED_BATCH stands for SCHED_FIFO */
static void (*before_set)(void);
static unsigned sets; /* to a real-time policy */

static int real_set(pid_t pid, int policy, const struct sched_param *param)
{
    return (int)syscall(SYS_sched_setscheduler, pid, policy, param);
}

static int other_policy(int policy, int from, int to)
{
    int flag = policy & SCHED_RESET_ON_FORK;

    return instead && (policy & ~SCHED_RESET_ON_FORK) == from ? to | flag : policy;
}

int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
    struct sched_param used = *param;

    if ((policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO) {
        sets++;
        if (before_set)
            before_set();
        if (instead)
            used.sched_priority = 0;
    }
    return real_set(pid, other_policy(policy, SCHED_FIFO, SCHED_BATCH), &used);
}

int sched_getscheduler(pid_t pid)
{
    int policy = (int)syscall(SYS_sched_getscheduler, pid);

    return policy < 0 ? -1 : other_policy(policy, SCHED_BATCH, SCHED_FIFO);
}

static void set_up(void)
{
    const struct sched_param lowest = {.sched_priority = 1}, none = {0};

    test_tmp_dir(dir);
    instead = real_set(0, SCHED_FIFO, &lowest) < 0;
    ck_assert_int_eq(real_set(0, SCHED_OTHER, &none), 0);
    before_set = NULL;
    sets = 0;
}

static void tear_down(void)
{
    char command[TEST_TMP_MAX + 16];

    snprintf(command, sizeof(command), "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}

static void in_group(pid_t pid)
{
    char path[TEST_TMP_MAX + 16];
    FILE *file;

    snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%d\n", (int)pid);
    fclose(file);
}

static void lift(void)
{
    ck_assert_int_eq(hpcb_spank_exiting_lift(dir, ""), 0);
}

static pid_t zombie(void)
{
    pid_t pid = fork();
    siginfo_t info;

    if (pid == 0)
        _exit(0);
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    return pid;
}

START_TEST(exiting_process_is_lifted)
{
    pid_t pid = zombie();

    in_group(pid);
    lift();
    ck_assert_int_eq(sched_getscheduler(pid), LIFTED);
    hpcb_spank_exiting_lower(dir, false, 0);
    ck_assert_int_eq(sched_getscheduler(pid), LIFTED);
    hpcb_spank_exiting_lower(dir, true, 0);
    ck_assert_int_eq(sched_getscheduler(pid), SCHED_OTHER);
    waitpid(pid, NULL, 0);
}
END_TEST

/* Another program than this one, which stands for slurmstepd. */
static pid_t live(void)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execlp("sleep", "sleep", "100", (char *)NULL);
    _exit(1);
}

START_TEST(living_process_is_not)
{
    const struct sched_param lowest = {.sched_priority = 1};
    pid_t pid = live();

    in_group(pid);
    while (!hpcb_task_begun(pid))
        usleep(1000);
    lift();
    ck_assert_uint_eq(sets, 0);
    ck_assert_int_eq(sched_setscheduler(pid, LIFTED, &lowest), 0);
    hpcb_spank_exiting_lower(dir, false, 0);
    ck_assert_int_eq(sched_getscheduler(pid), SCHED_OTHER);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
END_TEST

/* ---- a leader that ends, and a second thread that calls execve ---- */

static int go[2], done[2];
static bool at_once;

static void *replace(void *unused)
{
    char byte;

    if (at_once || read(go[0], &byte, 1) == 1)
        execl("/bin/sh", "sh", "-c", "echo; read line", (char *)NULL);
    (void)unused;
    _exit(1);
}

/* Its shell tells when it runs, and waits until go is closed. */
static pid_t heir(void)
{
    pthread_t thread;
    pid_t pid;

    ck_assert(pipe(go) == 0 && pipe(done) == 0);
    pid = fork();
    if (pid != 0) {
        close(go[0]);
        close(done[1]);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(go[1]);
    dup2(go[0], STDIN_FILENO);
    dup2(done[1], STDOUT_FILENO);
    close(done[1]);
    if (pthread_create(&thread, NULL, replace, NULL) != 0)
        _exit(1);
    pthread_exit(NULL);
}

static void wait_for_shell(void)
{
    char byte;

    ck_assert_int_eq(read(done[0], &byte, 1), 1);
}

static void end_heir(pid_t pid)
{
    close(go[1]);
    close(done[0]);
    waitpid(pid, NULL, 0);
}

static void let_it_replace(void)
{
    before_set = NULL;
    ck_assert_int_eq(write(go[1], "x", 1), 1);
    wait_for_shell();
}

static void wait_for_death_of_leader(pid_t pid)
{
    char path[64], text[256];
    bool gone = false;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (!gone) {
        FILE *file = fopen(path, "re");

        ck_assert(file && fgets(text, sizeof(text), file));
        gone = strstr(text, ") Z ") != NULL;
        fclose(file);
        usleep(1000);
    }
}

START_TEST(leader_alone_says_nothing)
{
    pid_t pid;

    at_once = false;
    pid = heir();
    in_group(pid);
    wait_for_death_of_leader(pid);
    before_set = let_it_replace;
    lift();
    if (before_set)
        let_it_replace();
    ck_assert_int_eq(sched_getscheduler(pid), SCHED_OTHER);
    ck_assert_uint_eq(sets, 0);
    end_heir(pid);
}
END_TEST

static void *lift_on(void *stop)
{
    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
        (void)hpcb_spank_exiting_lift(dir, "");
    return NULL;
}

/* The same left to chance. */
START_TEST(nor_in_a_race)
{
    unsigned inherited = 0;

    at_once = true;
    for (int i = 0; i < TRIES; i++) {
        pid_t pid = heir();
        bool stop = false;
        pthread_t thread;

        in_group(pid);
        ck_assert_int_eq(pthread_create(&thread, NULL, lift_on, &stop), 0);
        wait_for_shell();
        inherited += sched_getscheduler(pid) != SCHED_OTHER;
        __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
        pthread_join(thread, NULL);
        end_heir(pid);
    }
    ck_assert_uint_eq(inherited, 0);
}
END_TEST

/* ---- an id that goes to a new process ---- */

static pid_t renewed;
static bool can_renew;

static void renew(void)
{
    pid_t wanted = renewed;
    struct clone_args args = {.exit_signal = SIGCHLD,
                              .set_tid = (uint64_t)(uintptr_t)&wanted,
                              .set_tid_size = 1};
    long pid;

    before_set = NULL;
    usleep(30000); /* a start time has 10 ms */
    waitpid(renewed, NULL, 0);
    pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0) {
        for (;;)
            pause();
    }
    can_renew = pid == renewed;
}

START_TEST(another_process_is_let_down)
{
    renewed = zombie();
    in_group(renewed);
    before_set = renew;
    lift();
    ck_assert_uint_eq(sets, 1);
    if (!can_renew) {
        fprintf(stderr, "# skipped: clone3 with set_tid: %s\n", strerror(errno));
        return;
    }
    ck_assert_int_eq(sched_getscheduler(renewed), SCHED_OTHER);
    kill(renewed, SIGKILL);
    waitpid(renewed, NULL, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exiting");
    TCase *tcase = tcase_create("exiting");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, exiting_process_is_lifted);
    tcase_add_test(tcase, living_process_is_not);
    tcase_add_test(tcase, leader_alone_says_nothing);
    tcase_add_test(tcase, nor_in_a_race);
    tcase_add_test(tcase, another_process_is_let_down);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
