/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/knob.h"
#include "sensor/rows.h"
#include "sensor/sensor.h"
#include "sensor/threads.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/common/tmp.h"

#define JOB "sys/fs/cgroup/unified/hpcb/job_5"

/* Sensors that show 1000 times the number of samples, and count what is open. */
static int opened, samples, whole_opened;
static bool broken;

static int here(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    (void)err;
    return 0;
}

static int absent(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    return hpcb_error(err, "no such hardware");
}

static int open_fake(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err)
{
    if (broken)
        return hpcb_error(err, "cannot open");
    opened++;
    *handle = NULL;
    whole_opened += job->job_id == 0;
    return 0;
}

static int sample_fake(void *handle, uint64_t *values, hpcb_error_t *err)
{
    (void)handle;
    if (broken)
        return hpcb_error(err, "it broke");
    values[HPCB_FIGURE_TRANSFER] = 1000 * (uint64_t)++samples;
    return 0;
}

static void close_fake(void *handle)
{
    (void)handle;
    opened--;
}

#define FAKE(row, its_probe, of_node)                                                  \
    static const hpcb_sensor_t row = {                                                 \
        .name = #row,                                                                  \
        .what = "a test's",                                                            \
        .whole = of_node,                                                              \
        .figures = 1U << HPCB_FIGURE_TRANSFER,                                         \
        .probe = its_probe,                                                            \
        .open = open_fake,                                                             \
        .sample = sample_fake,                                                         \
        .close = close_fake,                                                           \
    }

FAKE(missing, absent, false);
FAKE(socket_wide, here, true);
FAKE(second, here, false);

static const hpcb_sensor_t *const rows[] = {&missing, &socket_wide, &second};

static hpcb_node_t *node;
static hpcb_sensing_t *sensing;

static void start(const hpcb_sensor_t *const *table, size_t count)
{
    hpcb_error_t err;

    opened = samples = whole_opened = 0;
    broken = false;
    ck_assert_msg(hpcb_node_open(fake_start("v1-hybrid"), &node, &err) == 0, "%s",
                  err.text);
    ck_assert_int_eq(hpcb_sensing_open(node, table, count, &sensing, NULL), 0);
}

static void stop(void)
{
    hpcb_sensing_close(sensing);
    hpcb_node_close(node);
    fake_stop();
}

/* As the first task of a job does. */
static void make_group(const char *name)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_UNIFIED);
    char path[4096];

    (void)hpcb_knob_mkdir(mount, "hpcb", NULL);
    snprintf(path, sizeof(path), "hpcb/%s", name);
    ck_assert_int_eq(hpcb_knob_mkdir(mount, path, NULL), 0);
}

static hpcb_sensed_t *job(uint32_t id)
{
    hpcb_sensed_t *made;
    hpcb_error_t err;
    char name[32];

    snprintf(name, sizeof(name), "job_%u", id);
    make_group(name);
    ck_assert_msg(hpcb_sensed_open(sensing, id, NULL, &made, &err) == 0, "%s",
                  err.text);
    return made;
}

static hpcb_reading_t transfer(hpcb_sensed_t *of)
{
    hpcb_sample_t sample;

    hpcb_sensed_sample(of, &sample);
    return sample.figure[HPCB_FIGURE_TRANSFER];
}

START_TEST(says_why_a_sensor_is_absent)
{
    hpcb_sensed_t *one;

    start(rows, 3);
    one = job(5);
    ck_assert_str_eq(hpcb_sensing_why_not(sensing, 0), "no such hardware");
    ck_assert_str_eq(hpcb_sensed_why_not(one, 0), "no such hardware");
    ck_assert_ptr_null(hpcb_sensing_why_not(sensing, 1));
    ck_assert_ptr_null(hpcb_sensed_why_not(one, 1));
    ck_assert_int_eq(opened, 2);
    ck_assert_int_eq(whole_opened, 1);
    hpcb_sensed_close(one);
    ck_assert_int_eq(opened, 1);
    stop();
    ck_assert_int_eq(opened, 0);
}
END_TEST

START_TEST(the_first_that_measures_wins)
{
    hpcb_sensed_t *one;
    hpcb_reading_t reading;

    start(rows, 3);
    one = job(5);
    reading = transfer(one);
    ck_assert_str_eq(reading.sensor, "socket_wide");
    ck_assert_uint_eq(reading.value, 1000);
    hpcb_sensed_close(one);
    stop();
}
END_TEST

START_TEST(a_sum_over_jobs_is_charged_to_none)
{
    hpcb_sensed_t *one, *two;

    start(rows, 3);
    one = job(5);
    ck_assert(!transfer(one).shared);
    two = job(6);
    ck_assert(transfer(one).shared);
    ck_assert(transfer(two).shared);
    /* What came together cannot be told apart afterwards either. */
    hpcb_sensed_close(two);
    ck_assert(transfer(one).shared);
    hpcb_sensed_close(one);
    one = job(7);
    ck_assert(!transfer(one).shared);
    hpcb_sensed_close(one);
    stop();
}
END_TEST

START_TEST(the_node_is_read_once_in_a_round)
{
    hpcb_sensed_t *one, *two;

    start(rows, 2);
    one = job(5);
    two = job(6);
    ck_assert_uint_eq(transfer(one).value, 1000);
    ck_assert_uint_eq(transfer(two).value, 1000);
    hpcb_sensing_round(sensing);
    ck_assert_uint_eq(transfer(two).value, 2000);
    ck_assert_uint_eq(transfer(one).value, 2000);
    hpcb_sensing_round(sensing);
    broken = true;
    ck_assert_ptr_null(transfer(one).sensor);
    ck_assert_str_eq(hpcb_sensing_why_not(sensing, 1), "it broke");
    broken = false;
    ck_assert_ptr_null(transfer(two).sensor);
    hpcb_sensed_close(one);
    hpcb_sensed_close(two);
    ck_assert_int_eq(opened, 0);
    stop();
    ck_assert_int_eq(opened, 0);
}
END_TEST

START_TEST(what_counts_one_job_is_not_shared)
{
    hpcb_sensed_t *one, *two;

    start(rows + 2, 1);
    one = job(5);
    two = job(6);
    ck_assert(!transfer(one).shared);
    hpcb_sensed_close(one);
    hpcb_sensed_close(two);
    stop();
}
END_TEST

START_TEST(a_failure_costs_its_figure_only)
{
    const hpcb_sensor_t *both[] = {&second, &hpcb_sensor_cpu};
    hpcb_sensed_t *one;
    hpcb_sample_t sample;

    start(both, 2);
    make_group("job_5");
    fake_write(JOB "/cpu.stat", "usage_usec 77\n");
    one = job(5);
    broken = true;
    hpcb_sensed_sample(one, &sample);
    ck_assert_ptr_null(sample.figure[HPCB_FIGURE_TRANSFER].sensor);
    ck_assert_str_eq(hpcb_sensed_why_not(one, 0), "it broke");
    ck_assert_str_eq(sample.figure[HPCB_FIGURE_CPU].sensor, "cpu");
    ck_assert_int_eq(opened, 0);
    broken = false;
    ck_assert_ptr_null(transfer(one).sensor);
    hpcb_sensed_close(one);
    ck_assert_int_eq(opened, 0);
    stop();
}
END_TEST

/* A group that has gone is no reason why a sensor that measures should not. */
static int adopt_fake(void *handle, const hpcb_sensor_job_t *about, hpcb_error_t *err)
{
    (void)handle;
    (void)about;
    snprintf(err->text, sizeof(err->text), "a group has gone");
    return 0;
}

START_TEST(what_measures_needs_no_reason)
{
    hpcb_sensor_t adopts = second;
    const hpcb_sensor_t *const table[] = {&adopts};
    hpcb_sensed_t *one;

    adopts.adopt = adopt_fake;
    start(table, 1);
    one = job(5);
    hpcb_sensed_adopt(one);
    ck_assert_str_eq(transfer(one).sensor, "second");
    ck_assert_ptr_null(hpcb_sensed_why_not(one, 0));
    hpcb_sensed_close(one);
    stop();
}
END_TEST

START_TEST(a_job_without_tasks_has_no_group)
{
    hpcb_sensed_t *one;

    start(rows, 3);
    errno = 0;
    ck_assert_int_eq(hpcb_sensed_open(sensing, 9, NULL, &one, NULL), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(fake_changes(), 0);
    stop();
}
END_TEST

START_TEST(every_row_has_a_name_and_a_figure)
{
    static const char *const all[] = {
        "cpu",     "delay",      "pressure",     "network",          "fabric",
        "resctrl", "papi-cores", "papi-sockets", "papi-instructions"};
    size_t count;
    const hpcb_sensor_t *const *table = hpcb_sensors(&count);

    ck_assert_uint_le(count, HPCB_SENSORS_MAX);
    ck_assert_uint_eq(count, sizeof(all) / sizeof(all[0]));
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(table[i]->name, all[i]);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_ne(table[i]->figures, 0);
        ck_assert(strlen(table[i]->name) < 20 && table[i]->what[0] && table[i]->probe);
    }
}
END_TEST

static int count_thread(pid_t tid, void *arg, hpcb_error_t *err)
{
    unsigned *count = arg;

    (void)tid;
    (void)err;
    ++*count;
    return 0;
}

START_TEST(a_group_may_have_any_number_of_threads)
{
    static const hpcb_threads_visitor_t visitor = {.visit = count_thread};
    char dir[TEST_TMP_MAX], path[TEST_TMP_MAX + 32];
    unsigned count = 0;
    hpcb_error_t err;
    FILE *file;

    test_tmp_dir(dir);
    snprintf(path, sizeof(path), "%s/cgroup.threads", dir);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 40000; i++)
        fprintf(file, "%d\n", 4000000 + i);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(hpcb_threads_each(dir, &visitor, &count, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(count, 40000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sensor");
    TCase *tcase = tcase_create("sensor");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, says_why_a_sensor_is_absent);
    tcase_add_test(tcase, the_first_that_measures_wins);
    tcase_add_test(tcase, a_sum_over_jobs_is_charged_to_none);
    tcase_add_test(tcase, the_node_is_read_once_in_a_round);
    tcase_add_test(tcase, what_counts_one_job_is_not_shared);
    tcase_add_test(tcase, a_failure_costs_its_figure_only);
    tcase_add_test(tcase, what_measures_needs_no_reason);
    tcase_add_test(tcase, a_job_without_tasks_has_no_group);
    tcase_add_test(tcase, every_row_has_a_name_and_a_figure);
    tcase_add_test(tcase, a_group_may_have_any_number_of_threads);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
