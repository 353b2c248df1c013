/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "sensor/meter.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/cgroup/real_kernel.h"

#define JOB "sys/fs/cgroup/unified/hpcb/job_5"

static hpcb_node_t *open_node(const char *root)
{
    hpcb_node_t *node;
    hpcb_error_t err;

    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
    return node;
}

static void used(const char *group, unsigned cpu, unsigned delay)
{
    char path[256], text[256];

    snprintf(path, sizeof(path), JOB "/%s/cpu.stat", group);
    snprintf(text, sizeof(text), "usage_usec %u\nuser_usec 1\n", cpu);
    fake_write(path, text);
    snprintf(path, sizeof(path), JOB "/%s/cpu.pressure", group);
    snprintf(text, sizeof(text),
             "some avg10=1.00 avg60=1.00 avg300=1.00 total=%u\n"
             "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n",
             delay);
    fake_write(path, text);
}

static void attach(const hpcb_node_t *node, const char *step, uint32_t task, pid_t pid)
{
    hpcb_error_t err;

    ck_assert_msg(hpcb_meter_attach(node, 5, step, task, pid, &err) == 0, "%s",
                  err.text);
}

START_TEST(adds_up_task_groups)
{
    hpcb_node_t *node = open_node(fake_start("v1-hybrid"));
    pid_t pid = fake_task(100);
    hpcb_usage_t usage = {0};
    hpcb_usage_scope_t scope;

    attach(node, "0", 0, pid);
    attach(node, "0", 1, fake_task(100));
    attach(node, "10", 0, fake_task(100));
    used("0.0", 100, 10);
    used("0.1", 200, 20);
    used("10.0", 4000, 400);
    ck_assert_int_eq(hpcb_meter_read(node, 5, pid, &usage, &scope, NULL), 0);
    ck_assert_int_eq(scope, HPCB_USAGE_STEP);
    ck_assert_uint_eq(usage.cpu_us, 4300);
    ck_assert_uint_eq(usage.run_delay_us, 430);
    ck_assert_uint_eq(usage.memory_peak, 52428800);
    /* Another job's groups are none of ours, and no groups are no use at all. */
    ck_assert_int_eq(hpcb_meter_read(node, 6, 0, &usage, &scope, NULL), 0);
    ck_assert_uint_eq(usage.cpu_us, 0);
    ck_assert_uint_eq(usage.memory_peak, 0);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(folds_a_step_and_leaves_the_rest)
{
    hpcb_node_t *node = open_node(fake_start("v1-hybrid"));
    pid_t orphan = fake_task(100);
    hpcb_usage_t usage = {.cpu_us = 1, .memory_peak = 7};
    char pid[16];

    attach(node, "1", 0, fake_task(100));
    attach(node, "1", 1, orphan);
    attach(node, "10", 0, fake_task(100));
    used("1.0", 100, 10);
    used("1.1", 200, 20);
    used("10.0", 4000, 400);
    fake_write(JOB "/1.0/cgroup.procs", "");
    ck_assert_int_eq(hpcb_meter_fold_step(node, 5, "1", &usage, NULL), 0);
    ck_assert_uint_eq(usage.cpu_us, 101);
    ck_assert_uint_eq(usage.run_delay_us, 10);
    ck_assert_uint_eq(usage.memory_peak, 7);
    ck_assert_str_eq(fake_read(JOB "/1.0/cpu.stat"), "(none)");
    ck_assert_str_ne(fake_read(JOB "/1.1/cpu.stat"), "(none)");
    ck_assert_int_eq(hpcb_meter_fold_step(node, 5, "1", &usage, NULL), 0);
    ck_assert_uint_eq(usage.cpu_us, 101);
    ck_assert_int_eq(hpcb_meter_remove(node, 5, &usage, NULL), 0);
    ck_assert_uint_eq(usage.cpu_us, 4301);
    ck_assert_uint_eq(usage.run_delay_us, 430);
    ck_assert_str_eq(fake_read(JOB "/cgroup.procs"), "(none)");
    ck_assert_str_eq(fake_read("sys/fs/cgroup/unified/hpcb/cgroup.procs"), "(none)");
    /* Who survived its job is not lost. */
    snprintf(pid, sizeof(pid), "%d", (int)orphan);
    ck_assert_ptr_nonnull(strstr(fake_read("sys/fs/cgroup/unified/cgroup.procs"), pid));
    ck_assert_int_eq(hpcb_meter_remove(node, 5, &usage, NULL), 0);
    ck_assert_uint_eq(usage.cpu_us, 4301);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(keeps_the_parent_of_other_jobs)
{
    hpcb_node_t *node = open_node(fake_start("v1-hybrid"));
    hpcb_usage_t usage = {0};

    attach(node, "0", 0, fake_task(100));
    ck_assert_int_eq(hpcb_meter_attach(node, 6, "batch", 0, fake_task(100), NULL), 0);
    ck_assert_int_eq(hpcb_meter_remove(node, 6, &usage, NULL), 0);
    ck_assert_str_ne(fake_read(JOB "/0.0/cgroup.procs"), "(none)");
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(refuses_odd_steps)
{
    static const char *const bad[] = {"", ".", "..", "0/..", "0.1", "a b", "0\n"};
    hpcb_node_t *node = open_node(fake_start("v1-hybrid"));
    hpcb_usage_t usage = {0};
    hpcb_error_t err;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(hpcb_meter_attach(node, 5, bad[i], 0, 100, &err), -1);
        ck_assert_int_eq(hpcb_meter_fold_step(node, 5, bad[i], &usage, &err), -1);
    }
    ck_assert_int_eq(fake_changes(), 0);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(reads_slurms_group_on_v2)
{
    hpcb_node_t *node = open_node(fake_start("v2-sluid"));
    hpcb_usage_t usage = {.cpu_us = 3};
    hpcb_usage_scope_t scope;
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_meter_attach(node, 3, "0", 0, 100, &err), 0);
    ck_assert_int_eq(hpcb_meter_fold_step(node, 3, "0", &usage, &err), 0);
    ck_assert_int_eq(hpcb_meter_remove(node, 3, &usage, &err), 0);
    ck_assert_int_eq(fake_changes(), 0);
    ck_assert_uint_eq(usage.cpu_us, 3);
    ck_assert_int_eq(hpcb_meter_read(node, 3, 100, &usage, &scope, &err), 0);
    ck_assert_int_eq(scope, HPCB_USAGE_JOB);
    ck_assert_uint_eq(usage.cpu_us, 5000000);
    ck_assert_uint_eq(usage.run_delay_us, 25000);
    ck_assert_uint_eq(usage.memory_peak, 73400320);
    ck_assert_int_eq(hpcb_meter_read(node, 3, 0, &usage, &scope, &err), -1);
    ck_assert_int_eq(hpcb_meter_read(node, 3, 102, &usage, &scope, &err), -1);
    ck_assert_uint_eq(usage.cpu_us, 5000000);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(fails_without_cgroup2)
{
    hpcb_node_t *node = open_node(fake_start("v1-comounted"));
    hpcb_usage_t usage = {0};
    hpcb_usage_scope_t scope;
    hpcb_error_t err = {""};

    ck_assert_int_eq(hpcb_meter_attach(node, 3, "0", 0, 100, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cgroup2"));
    ck_assert_int_eq(hpcb_meter_read(node, 3, 100, &usage, &scope, &err), -1);
    ck_assert_int_eq(hpcb_meter_remove(node, 3, &usage, &err), -1);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

/* Stopped, so that it uses nothing while two counters are compared. */
static void hold(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
}

static void expect_near(uint64_t counted, uint64_t wanted)
{
    uint64_t difference = counted > wanted ? counted - wanted : wanted - counted;

    ck_assert_msg(difference < 20000 + wanted / 20, "%ju us counted, %ju us used",
                  (uintmax_t)counted, (uintmax_t)wanted);
}

/* Two busy loops on one CPU: cpu.stat and cpu.pressure against schedstat. */
START_TEST(agrees_with_schedstat)
{
    hpcb_usage_t usage = {0}, last = {0};
    hpcb_usage_scope_t scope;
    real_time_t start, now;
    hpcb_node_t *node;
    pid_t pid, rival;

    if (!real_enter()) {
        fprintf(stderr, "# skipped: %s\n", real_why());
        return;
    }
    node = open_node("/");
    rival = real_burner();
    pid = real_burner();
    hold(pid);
    attach(node, "0", 0, pid);
    start = real_time(pid);
    ck_assert_int_eq(kill(pid, SIGCONT), 0);
    real_sleep_ms(1500);
    hold(pid);
    ck_assert_int_eq(hpcb_meter_read(node, 5, 0, &usage, &scope, NULL), 0);
    now = real_time(pid);
    ck_assert_uint_gt(usage.cpu_us, 0);
    ck_assert_uint_gt(usage.run_delay_us, 300000);
    expect_near(usage.cpu_us, now.cpu_us - start.cpu_us);
    expect_near(usage.run_delay_us, now.delay_us - start.delay_us);
    real_reap(rival);
    /* A fold leaves what lives; the end of the job does not lose it. */
    ck_assert_int_eq(hpcb_meter_fold_step(node, 5, "0", &last, NULL), 0);
    ck_assert_uint_eq(last.cpu_us, 0);
    ck_assert_int_eq(hpcb_meter_remove(node, 5, &last, NULL), 0);
    ck_assert_uint_ge(last.cpu_us, usage.cpu_us);
    ck_assert(!hpcb_knob_exists(hpcb_node_mount(node, HPCB_CTL_UNIFIED), "hpcb"));
    ck_assert_int_eq(kill(pid, 0), 0);
    real_reap(pid);
    hpcb_node_close(node);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("meter");
    TCase *tcase = tcase_create("meter");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_unchecked_fixture(tcase, real_setup, real_teardown);
    tcase_add_test(tcase, adds_up_task_groups);
    tcase_add_test(tcase, folds_a_step_and_leaves_the_rest);
    tcase_add_test(tcase, keeps_the_parent_of_other_jobs);
    tcase_add_test(tcase, refuses_odd_steps);
    tcase_add_test(tcase, reads_slurms_group_on_v2);
    tcase_add_test(tcase, fails_without_cgroup2);
    tcase_add_test(tcase, agrees_with_schedstat);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
