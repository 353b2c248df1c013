/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The watchdog with a child of the test as its daemon: whom it kills, and when it
 * releases what the daemon has left (here: makes a file).
 */
#include "config.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "hpcbd/windows/watchdog.h"
#include "tests/common/scratch.h"

#define MILLISECOND INT64_C(1000000)
#define GRACE_MS    (HPCBD_WATCHDOG_GRACE_NS / MILLISECOND)
/* Beyond that a watchdog has not done its work. */
#define PATIENCE_MS 20000

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleep_ms(int64_t ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * MILLISECOND};

    nanosleep(&time, NULL);
}

static void release(void *path)
{
    FILE *stream = fopen(path, "w");

    if (stream)
        fclose(stream);
}

/* In all processes. */
static void keep_log(hpcb_log_level_t level, const char *line)
{
    FILE *stream = fopen(scratch("log"), "a");

    (void)level;
    if (!stream)
        return;
    fprintf(stream, "%s\n", line);
    fclose(stream);
}

static bool released(void)
{
    return access(scratch("released"), F_OK) == 0;
}

static void arm_in(hpcbd_watchdog_t *watchdog, int64_t ms)
{
    hpcbd_watchdog_arm(watchdog, HPCBD_WATCHDOG_BOOST, now_ns() + ms * MILLISECOND);
}

/* What daemons do, in a process of their own; each returns what it exits with. */

static int is_idle(hpcbd_watchdog_t *watchdog)
{
    arm_in(watchdog, 1);
    sleep_ms(5);
    hpcbd_watchdog_arm(watchdog, HPCBD_WATCHDOG_BOOST, 0);
    sleep_ms(2 * GRACE_MS);
    return released() ? 1 : 7;
}

/* Edges every 5 ms, for much longer than the watchdog waits. */
static int is_punctual(hpcbd_watchdog_t *watchdog)
{
    int64_t end_ns = now_ns() + 3 * GRACE_MS * MILLISECOND;

    for (bool favoured = true; now_ns() < end_ns; favoured = !favoured) {
        hpcbd_watchdog_arm(watchdog, HPCBD_WATCHDOG_BOOST,
                           favoured ? now_ns() + 5 * MILLISECOND : 0);
        sleep_ms(5);
    }
    return released() ? 1 : 7;
}

static int hangs(hpcbd_watchdog_t *watchdog)
{
    arm_in(watchdog, 1);
    sleep_ms(PATIENCE_MS);
    return 1;
}

/* One deadline is far away, or has been met: the other one counts. */
static int hangs_with_guests_stopped(hpcbd_watchdog_t *watchdog)
{
    arm_in(watchdog, 3600000);
    /* It sleeps for that by now. */
    sleep_ms(50);
    hpcbd_watchdog_arm(watchdog, HPCBD_WATCHDOG_GUESTS, now_ns() + MILLISECOND);
    sleep_ms(5);
    hpcbd_watchdog_arm(watchdog, HPCBD_WATCHDOG_BOOST, 0);
    sleep_ms(PATIENCE_MS);
    return 1;
}

/* The whole machine does, for a second; the watchdog, whose priority is higher, goes on
 * first.  early: it is stopped before the daemon is. */
static void stand_still(const hpcbd_watchdog_t *watchdog, bool early, int64_t arm_ms)
{
    pid_t daemon = getpid(), machine = fork();

    if (machine == 0) {
        if (early)
            kill(watchdog->pid, SIGSTOP);
        sleep_ms(arm_ms + 100);
        kill(daemon, SIGSTOP);
        kill(watchdog->pid, SIGSTOP);
        sleep_ms(2 * GRACE_MS);
        kill(watchdog->pid, SIGCONT);
        sleep_ms(50);
        kill(daemon, SIGCONT);
        _exit(0);
    }
    sleep_ms(arm_ms);
}

/* Until the machine has gone on. */
static void be_still(void)
{
    while (waitpid(-1, NULL, 0) < 0)
        ;
}

static int is_late_with_the_machine(hpcbd_watchdog_t *watchdog)
{
    arm_in(watchdog, 300);
    stand_still(watchdog, false, 0);
    be_still();
    hpcbd_watchdog_arm(watchdog, HPCBD_WATCHDOG_BOOST, 0);
    sleep_ms(2 * GRACE_MS);
    return released() ? 1 : 7;
}

/* The watchdog has not yet seen what it is armed for. */
static int arms_as_the_machine_stops(hpcbd_watchdog_t *watchdog)
{
    stand_still(watchdog, true, 50);
    arm_in(watchdog, 1);
    be_still();
    hpcbd_watchdog_arm(watchdog, HPCBD_WATCHDOG_BOOST, 0);
    sleep_ms(2 * GRACE_MS);
    return released() ? 1 : 7;
}

static int hangs_after_that(hpcbd_watchdog_t *watchdog)
{
    arm_in(watchdog, 300);
    stand_still(watchdog, false, 0);
    be_still();
    sleep_ms(PATIENCE_MS);
    return 1;
}

/* The watchdog sleeps without a limit when favour begins. */
static int hangs_later(hpcbd_watchdog_t *watchdog)
{
    int rc = is_idle(watchdog);

    return rc == 7 ? hangs(watchdog) : rc;
}

static int dies_while_idle(hpcbd_watchdog_t *watchdog)
{
    (void)watchdog;
    raise(SIGKILL);
    return 1;
}

static int dies_in_favour(hpcbd_watchdog_t *watchdog)
{
    arm_in(watchdog, 3600000);
    sleep_ms(20);
    raise(SIGKILL);
    return 1;
}

static int stops(hpcbd_watchdog_t *watchdog)
{
    arm_in(watchdog, 3600000);
    hpcbd_watchdog_stop(watchdog);
    return released() ? 7 : 1;
}

/* The daemon's status as of waitpid; released() holds soon after, or it is -1. */
static int run(int (*work)(hpcbd_watchdog_t *watchdog))
{
    const char *path = scratch("released");
    int status = -1;
    pid_t pid;

    unlink(path);
    pid = fork();
    if (pid == 0) {
        hpcbd_watchdog_t watchdog;

        if (hpcbd_watchdog_start(&watchdog, release, (void *)path, NULL) < 0)
            _exit(2);
        _exit(work(&watchdog));
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    for (int i = 0; i < PATIENCE_MS / 10 && !released(); i++)
        sleep_ms(10);
    return released() ? status : -1;
}

static void check_exit(int (*work)(hpcbd_watchdog_t *watchdog))
{
    int status = run(work);

    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %#x", status);
}

static void check_kill(int (*work)(hpcbd_watchdog_t *watchdog))
{
    int status = run(work);

    ck_assert_msg(status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                  "status %#x", status);
}

START_TEST(who_is_in_time_is_left_alone)
{
    check_exit(is_idle);
    check_exit(is_punctual);
}
END_TEST

START_TEST(who_hangs_is_killed)
{
    check_kill(hangs);
    check_kill(hangs_later);
    check_kill(hangs_with_guests_stopped);
}
END_TEST

/* On a machine that is busy the daemon may be late by its own fault, too; without a
 * pardon it is killed each time. */
static void check_pardon(int (*work)(hpcbd_watchdog_t *watchdog))
{
    int status = run(work);

    for (int i = 0; i < 9 && !WIFEXITED(status); i++)
        status = run(work);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %#x", status);
}

START_TEST(who_is_late_because_the_machine_is_is_left_alone)
{
    check_pardon(is_late_with_the_machine);
    check_pardon(arms_as_the_machine_stops);
    check_kill(hangs_after_that);
}
END_TEST

/* What it did, so that the next one can be explained. */
START_TEST(the_log_says_where_it_hung)
{
    const char *line = "";

    hpcb_log_set_sink(keep_log);
    check_kill(hangs);
    for (int i = 0; i < PATIENCE_MS / 10 && !*line; i++) {
        sleep_ms(10);
        if (access(scratch("log"), F_OK) == 0)
            line = get_file(scratch("log"));
    }
    ck_assert_msg(
        strstr(line, "hpcbd hung while a job was favoured: killed (state S, waits in "),
        "%s", line);
    ck_assert_msg(strstr(line, " s late)"), "%s", line);
}
END_TEST

START_TEST(whoever_dies_leaves_nothing)
{
    check_kill(dies_while_idle);
    check_kill(dies_in_favour);
    check_exit(stops);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_watchdog");
    TCase *tc = scratch_case("node_watchdog");

    tcase_add_test(tc, who_is_in_time_is_left_alone);
    tcase_add_test(tc, who_hangs_is_killed);
    tcase_add_test(tc, who_is_late_because_the_machine_is_is_left_alone);
    tcase_add_test(tc, the_log_says_where_it_hung);
    tcase_add_test(tc, whoever_dies_leaves_nothing);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
