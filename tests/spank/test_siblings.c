/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests on nodes with SMT, as far as the plugin goes: when it says something, when it
 * refuses, and who tells whom that primaries have come or gone.  What is done to tasks
 * is tests/cgroup/test_siblings.c's.  The node here has no groups that could be
 * throttled.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/spank/tests.h"

#define JOB 9
#define CPU "sys/devices/system/cpu/"
#define UNLOGGED                                                                       \
    "info: hpc_balance: guest job 9: the undo log cannot be written, its tasks are "   \
    "kept from running beside primaries without it"
#define BESIDE "info: hpc_balance: guest job 9: it may run beside primaries"

static host_step_t a_step(int tasks)
{
    return (host_step_t){.job_id = JOB, .uid = test_user(), .tasks = tasks};
}

/* All CPUs that there may be are threads of one core. */
static void put_smt(bool smt)
{
    test_write(CPU "online", "0-1\n");
    test_write(CPU "cpu0/topology/thread_siblings_list", smt ? "0-1\n" : "0\n");
    test_write(CPU "cpu1/topology/thread_siblings_list", smt ? "0-1\n" : "1\n");
}

static void run_guest(const char *conf, bool smt, host_step_t *step)
{
    test_load(conf, false);
    put_smt(smt);
    test_record(JOB, "guest", "none", false);
    host_step(step);
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_lt(host_longest_us(), TEST_PATIENCE_US);
}

START_TEST(says_so_once)
{
    host_step_t step = a_step(3);

    run_guest("GuestSiblings=throttle\n", true, &step);
    ck_assert_int_eq(host_log_count(BESIDE), 1);
    ck_assert_int_eq(host_log_count("sibling-throttle: "), 1);
    ck_assert_int_eq(host_log_count("error:"), 0);
    ck_assert_str_eq(step.err, "");
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(step.status[i], 0);
}
END_TEST

/* With sched_setaffinity alone: nothing else is to be had on this node. */
START_TEST(kept_off_without_a_log)
{
    host_step_t step = a_step(3);

    test_load("GuestSiblings=avoid\n", false);
    put_smt(true);
    test_record(JOB, "guest", "none", false);
    test_write("state/jobs/9.undo/in-the-way", "\n");
    host_step(&step);
    ck_assert_int_eq(host_log_count(UNLOGGED), 1);
    ck_assert_int_eq(host_log_count(BESIDE), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(step.status[i], 0);
}
END_TEST

START_TEST(refuses_where_demanded)
{
    host_step_t step = a_step(2);

    run_guest("GuestSiblings=throttle\nGuestSiblingsRequired=yes\n", true, &step);
    for (int i = 0; i < 2; i++) {
        ck_assert(WIFEXITED(step.status[i]));
        ck_assert_int_eq(WEXITSTATUS(step.status[i]), 1);
    }
    ck_assert_ptr_nonnull(strstr(step.err, "hpc_balance: guest not started: a primary "
                                           "may run beside it"));
}
END_TEST

static const struct {
    const char *conf;
    bool smt;
} quiet[] = {
    {"", false},
    {"GuestSiblings=throttle\nGuestSiblingsRequired=yes\n", false},
    {"GuestSiblings=none\n", true},
};

START_TEST(says_nothing)
{
    host_step_t step = a_step(2);

    run_guest(quiet[_i].conf, quiet[_i].smt, &step);
    ck_assert_int_eq(host_log_count("info:") + host_log_count("error:"), 0);
    ck_assert_str_eq(step.err, "");
    ck_assert_int_eq(step.status[0], 0);
    ck_assert_int_eq(step.status[1], 0);
}
END_TEST

START_TEST(primaries_tell_guests)
{
    host_step_t step = a_step(1);

    test_load("", true);
    put_smt(true);
    test_record(JOB, _i ? "guest" : "primary", "none", false);
    host_step(&step);
    ck_assert_int_eq(test_exists("state/placement"), !_i);
    ck_assert_int_eq(host_log_count("error:"), 0);
}
END_TEST

/* A link in its place is not followed. */
START_TEST(placement_is_no_way_out)
{
    host_step_t step = a_step(1);
    char target[1024], link[1024];
    struct stat status;

    test_load("", true);
    snprintf(target, sizeof(target), "%s/elsewhere", test_dir());
    snprintf(link, sizeof(link), "%s/state/placement", test_dir());
    ck_assert_int_eq(symlink(target, link), 0);
    test_record(JOB, "primary", "none", false);
    host_step(&step);
    ck_assert_int_ne(stat(target, &status), 0);
    ck_assert_int_eq(step.status[0], 0);
    ck_assert_int_eq(host_log_count("error:") + host_log_count("info:"), 0);
}
END_TEST

TCase *siblings_tests(void)
{
    TCase *tc = tcase_create("siblings");

    tcase_add_checked_fixture(tc, test_setup, test_teardown);
    tcase_add_test(tc, says_so_once);
    tcase_add_test(tc, kept_off_without_a_log);
    tcase_add_test(tc, refuses_where_demanded);
    tcase_add_loop_test(tc, says_nothing, 0, 3);
    tcase_add_loop_test(tc, primaries_tell_guests, 0, 2);
    tcase_add_test(tc, placement_is_no_way_out);
    return tc;
}
