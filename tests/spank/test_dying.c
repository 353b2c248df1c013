/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Who is lifted when a guest's step ends.  What the lift is worth shows only beside a
 * busy primary (tests/e2e).
 */
#include "config.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/spank/ending.h"
#include "tests/spank/tests.h"

#define JOB_GROUP "/slurm_n1/uid_1/job_9"
/* The thread looks every 2 s, and lifts for 100 ms. */
#define WAIT_US 8000000
#define LOOK_US 5000

static pid_t exiting, alive;
static int highest; /* policy that the exiting one was seen with */

static pid_t child(void)
{
    pid_t pid = fork();

    while (pid == 0)
        pause();
    return pid;
}

static void show_job(pid_t pid)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)pid);
    test_write(name, "3:freezer:" JOB_GROUP "/step_0\n");
}

/* Lifted: no child of it inherits that. */
#define LIFTED (SCHED_FIFO | SCHED_RESET_ON_FORK)

static void wait_for_lift(void)
{
    for (int i = 0; i < WAIT_US / LOOK_US && highest != LIFTED; i++) {
        highest = sched_getscheduler(exiting);
        usleep(LOOK_US);
    }
}

/* Until it has been lifted, and let down again. */
static void wait_for_end_of_lift(void)
{
    wait_for_lift();
    for (int i = 0; i < WAIT_US / LOOK_US; i++) {
        if (sched_getscheduler(exiting) == SCHED_OTHER)
            return;
        usleep(LOOK_US);
    }
}

/* By the clock: on a busy machine each sleep may take a tenth of a second. */
static void wait_in_vain(void)
{
    time_t end = time(NULL) + 4;

    while (time(NULL) < end) {
        if (sched_getscheduler(exiting) == LIFTED)
            highest = LIFTED;
        usleep(LOOK_US);
    }
}

static bool load_freezer(void)
{
    static const struct sched_param lowest = {.sched_priority = 1};

    alive = child();
    /* Containers often may not, and groups without a real-time budget cannot. */
    if (sched_setscheduler(alive, SCHED_FIFO, &lowest) < 0)
        return false;
    sched_setscheduler(alive, SCHED_OTHER, &(struct sched_param){0});
    exiting = ending_begin();
    if (exiting < 0)
        return false;
    highest = SCHED_OTHER;
    test_load("", false);
    test_write("proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup/freezer rw - cgroup "
                                      "cgroup rw,freezer\n");
    test_write("sys/fs/cgroup/freezer/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup/freezer" JOB_GROUP "/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup/freezer" JOB_GROUP "/step_0/cgroup.procs", "%d\n%d\n",
               (int)alive, (int)exiting);
    return true;
}

static void run(const char *klass, void (*program)(void), void (*ended)(void),
                int *of_exiting, int *of_alive)
{
    host_step_t step = {.job_id = 9,
                        .uid = test_user(),
                        .tasks = 2,
                        .forked = show_job,
                        .program = program,
                        .ended = ended};

    test_record(9, klass, "none", false);
    host_step(&step);
    *of_exiting = highest;
    /* Unless the end waits for it, a lift may be under way when the step ends. */
    if (ended && ended != wait_for_lift)
        ck_assert_int_eq(sched_getscheduler(exiting), SCHED_OTHER);
    *of_alive = sched_getscheduler(alive);
}

static void end_children(void)
{
    kill(alive, SIGKILL);
    waitpid(alive, NULL, 0);
    if (exiting > 0)
        ending_end();
    exiting = 0;
}

static int threads_now(void)
{
    DIR *dir = opendir("/proc/self/task");
    int count = 0;

    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/*
 * Slurm unloads the plugin after exit: a thread left behind would run into nothing. One
 * that was joined stays in /proc until the kernel has taken it apart.
 */
static int threads(void)
{
    for (int i = 0; i < 200 && threads_now() > 1; i++)
        usleep(10000);
    return threads_now();
}

static void check(const char *klass, void (*program)(void), void (*ended)(void),
                  int expected)
{
    int of_exiting, of_alive;
    bool can = load_freezer();

    if (can)
        run(klass, program, ended, &of_exiting, &of_alive);
    end_children();
    if (!can)
        return;
    ck_assert_int_eq(of_exiting, expected);
    ck_assert_int_eq(threads(), 1);
    ck_assert_int_eq(of_alive, SCHED_OTHER);
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_lt(host_longest_us(), TEST_PATIENCE_US);
}

START_TEST(exiting_ones_are_lifted)
{
    check("guest", NULL, wait_for_lift, LIFTED);
}
END_TEST

/* For a part of the period only: the primary pays for it. */
START_TEST(and_let_down_again)
{
    check("guest", NULL, wait_for_end_of_lift, LIFTED);
}
END_TEST

START_TEST(primaries_are_not)
{
    check("primary", NULL, wait_in_vain, SCHED_OTHER);
}
END_TEST

/* Nothing ends yet: what comes and goes inside a running guest is left alone. */
START_TEST(nothing_before_the_end)
{
    check("guest", wait_in_vain, NULL, SCHED_OTHER);
}
END_TEST

static void wait_for_alive_to_be_lowered(void)
{
    const struct sched_param lowest = {.sched_priority = 1};

    ck_assert_int_eq(sched_setscheduler(alive, SCHED_FIFO, &lowest), 0);
    for (int i = 0; i < WAIT_US / LOOK_US; i++) {
        if (sched_getscheduler(alive) == SCHED_OTHER)
            return;
        usleep(LOOK_US);
    }
}

/* Whoever gave it that, and although nothing ends. */
START_TEST(nothing_alive_stays_realtime)
{
    check("guest", wait_for_alive_to_be_lowered, NULL, SCHED_OTHER);
}
END_TEST

/* ---- v2, where the kernel refuses SCHED_FIFO ---- */

#define SCOPE "/system.slice/slurmstepd.scope/job_9"

static bool woken;
static char weight[16];

static void first_line(const char *name, char *text, size_t size)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof(path), "%s/sys/fs/cgroup" SCOPE "/%s", test_dir(), name);
    file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    /* Empty while it is being written. */
    if (!fgets(text, (int)size, file))
        text[0] = '\0';
    fclose(file);
}

static bool is_idle(void)
{
    char text[16];

    first_line("cpu.idle", text, sizeof(text));
    return text[0] == '1';
}

static void show_job_v2(pid_t pid)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)pid);
    test_write(name, "0::" SCOPE "/step_0/user/task_0\n");
}

static void watch_idle(void)
{
    for (int i = 0; i < WAIT_US / LOOK_US && !woken; i++) {
        woken = !is_idle();
        usleep(LOOK_US);
    }
    if (woken)
        first_line("cpu.weight", weight, sizeof(weight));
}

/* The step's own task has ended; what is left of its job is processes. */
static void end_v2(const char *processes)
{
    host_step_t step = {
        .job_id = 9, .uid = test_user(), .forked = show_job_v2, .ended = watch_idle};

    test_load("", false);
    test_write("proc/self/mountinfo",
               "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    test_write("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
    test_write("sys/fs/cgroup/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup" SCOPE "/cpu.idle", "1\n");
    test_write("sys/fs/cgroup" SCOPE "/cpu.weight", "100\n");
    test_write("sys/fs/cgroup" SCOPE "/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup" SCOPE "/step_0/slurm/cgroup.procs", "%d\n",
               (int)getpid());
    test_write("sys/fs/cgroup" SCOPE "/step_0/user/task_0/cgroup.procs", "%s",
               processes);
    test_record(9, "guest", "none", false);
    test_give_up_realtime();
    host_step(&step);
    ck_assert_int_eq(host_failures(), 0);
}

START_TEST(refused_the_job_is_woken)
{
    char processes[64];

    if (getuid() != 0)
        return;
    exiting = ending_begin();
    if (exiting < 0)
        return;
    snprintf(processes, sizeof(processes), "%d\n", (int)exiting);
    end_v2(processes);
    ending_end();
    ck_assert(woken);
    ck_assert_str_eq(weight, "11");
    ck_assert(is_idle());
}
END_TEST

/* slurmstepd's program as a user, or another one as root: both are not slurmstepd. */
static pid_t live(bool other)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (other)
            execlp("sleep", "sleep", "100", NULL);
        else if (setuid(test_user()) == 0)
            pause();
        _exit(1);
    }
    return pid;
}

START_TEST(but_not_with_what_lives)
{
    char processes[64];

    if (getuid() != 0)
        return;
    alive = live(_i);
    exiting = ending_zombie();
    snprintf(processes, sizeof(processes), "%d\n%d\n", (int)exiting, (int)alive);
    end_v2(processes);
    waitpid(exiting, NULL, 0);
    kill(alive, SIGKILL);
    waitpid(alive, NULL, 0);
    ck_assert(!woken);
    ck_assert(is_idle());
}
END_TEST

TCase *dying_tests(void)
{
    TCase *tc = tcase_create("dying");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, test_setup, test_teardown);
    tcase_add_test(tc, exiting_ones_are_lifted);
    tcase_add_test(tc, and_let_down_again);
    tcase_add_test(tc, primaries_are_not);
    tcase_add_test(tc, nothing_before_the_end);
    tcase_add_test(tc, nothing_alive_stays_realtime);
    tcase_add_test(tc, refused_the_job_is_woken);
    tcase_add_loop_test(tc, but_not_with_what_lives, 0, 2);
    return tc;
}
