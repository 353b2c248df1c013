/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Sensors that read files of groups: cpu and pressure, on copies of snapshots. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "sensor/meter.h"
#include "sensor/rows.h"
#include "sensor/stat.h"
#include "tests/cgroup/fake_kernel.h"

static hpcb_node_t *node;
static char dir[4096];

static void start(const char *snapshot, uint32_t job_id, int like)
{
    char place[4096];
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_node_open(fake_start(snapshot), &node, NULL), 0);
    if (like > 0) {
        ck_assert_int_eq(hpcb_node_job_dir(node, fake_task(like), HPCB_CTL_UNIFIED,
                                           place, sizeof(place), NULL),
                         0);
    } else {
        ck_assert_int_eq(
            hpcb_meter_attach(node, job_id, "batch", 0, fake_task(100), NULL), 0);
    }
    ck_assert_msg(hpcb_meter_group(node, job_id, like ? place : NULL, dir, sizeof(dir),
                                   &err) == 0,
                  "%s", err.text);
}

static void stop(void)
{
    hpcb_node_close(node);
    fake_stop();
}

static void *opened(const hpcb_sensor_t *row)
{
    const hpcb_sensor_job_t job = {.node = node, .job_id = 5, .dir = dir};
    hpcb_error_t err;
    void *handle;

    ck_assert_msg(row->open(&job, &handle, &err) == 0, "%s", err.text);
    return handle;
}

static uint64_t value(const hpcb_sensor_t *row, void *handle, hpcb_figure_t figure)
{
    uint64_t values[HPCB_FIGURES] = {0};
    hpcb_error_t err;

    ck_assert_msg(row->sample(handle, values, &err) == 0, "%s", err.text);
    return values[figure];
}

static void write_in_job(const char *name, const char *text)
{
    char path[8192];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void pressure(const char *name, unsigned us)
{
    char text[128];

    snprintf(text, sizeof(text),
             "some avg10=1.00 avg60=1.00 avg300=1.00 total=%u\n"
             "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n",
             us);
    write_in_job(name, text);
}

static void group(const char *name, unsigned delay)
{
    char file[64];

    ck_assert_int_eq(hpcb_knob_mkdir(dir, name, NULL), 0);
    snprintf(file, sizeof(file), "%s/cpu.pressure", name);
    pressure(file, delay);
}

START_TEST(run_delay_is_the_sum_over_tasks)
{
    const hpcb_sensor_t *row = &hpcb_sensor_cpu;
    void *handle;

    start("v1-hybrid", 5, 0);
    write_in_job("cpu.stat", "usage_usec 900\nuser_usec 800\n");
    group("0.0", 10);
    handle = opened(row);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_RUN_DELAY), 10);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_CPU), 900);
    group("1.0", 100);
    group("1.1", 1000);
    pressure("0.0/cpu.pressure", 20);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_RUN_DELAY), 1120);
    /* Step 1 ends, and another begins. */
    ck_assert_int_eq(hpcb_knob_rmdir(dir, "1.0", NULL), 0);
    ck_assert_int_eq(hpcb_knob_rmdir(dir, "1.1", NULL), 0);
    pressure("0.0/cpu.pressure", 25);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_RUN_DELAY), 1125);
    group("2.0", 5);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_RUN_DELAY), 1130);
    row->close(handle);
    stop();
}
END_TEST

/* Nor does it keep files open when it has given up. */
START_TEST(a_user_cannot_take_all_files_of_the_daemon)
{
    const hpcb_sensor_t *row = &hpcb_sensor_cpu;
    uint64_t values[HPCB_FIGURES];
    hpcb_error_t err = {""};
    int before = dup(STDIN_FILENO), after;
    char name[32];
    void *handle;

    close(before);
    ck_assert_int_eq(hpcb_stat_take(HPCB_STAT_FILES_MAX - 8, NULL), 0);
    start("v1-hybrid", 5, 0);
    write_in_job("cpu.stat", "usage_usec 900\nuser_usec 800\n");
    handle = opened(row);
    for (unsigned i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "7.%u", i);
        group(name, 1);
    }
    ck_assert_int_eq(row->sample(handle, values, &err), -1);
    ck_assert_str_eq(err.text, "the jobs of this node have started too many tasks");
    row->close(handle);
    after = dup(STDIN_FILENO);
    ck_assert_int_eq(after, before);
    close(after);
    ck_assert_int_eq(hpcb_stat_take(8, NULL), 0);
    ck_assert_int_eq(hpcb_stat_take(1, &err), -1);
    hpcb_stat_give(HPCB_STAT_FILES_MAX);
    stop();
}
END_TEST

START_TEST(on_v2_the_jobs_group_has_both)
{
    const hpcb_sensor_t *row = &hpcb_sensor_cpu;
    void *handle;

    start("v2-slurm22", 4, 100);
    write_in_job("cpu.stat", "usage_usec 77\n");
    pressure("cpu.pressure", 33);
    handle = opened(row);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_CPU), 77);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_RUN_DELAY), 33);
    row->close(handle);
    stop();
}
END_TEST

START_TEST(waits_for_memory_and_storage)
{
    const hpcb_sensor_t *row = &hpcb_sensor_pressure;
    void *handle;

    start("v2-slurm22", 4, 100);
    pressure("memory.pressure", 1234);
    pressure("io.pressure", 5678);
    handle = opened(row);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_STALL_MEMORY), 1234);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_STALL_IO), 5678);
    row->close(handle);
    stop();
}
END_TEST

START_TEST(a_file_without_the_figure_is_a_failure)
{
    const hpcb_sensor_t *row = &hpcb_sensor_cpu;
    uint64_t values[HPCB_FIGURES] = {0};
    void *handle;

    start("v1-hybrid", 5, 0);
    write_in_job("cpu.stat", "nonsense\n");
    handle = opened(row);
    ck_assert_int_eq(row->sample(handle, values, NULL), -1);
    row->close(handle);
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu");
    TCase *tcase = tcase_create("cpu");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, run_delay_is_the_sum_over_tasks);
    tcase_add_test(tcase, a_user_cannot_take_all_files_of_the_daemon);
    tcase_add_test(tcase, on_v2_the_jobs_group_has_both);
    tcase_add_test(tcase, waits_for_memory_and_storage);
    tcase_add_test(tcase, a_file_without_the_figure_is_a_failure);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
