/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Sensors that read sysfs: fabric and resctrl, on trees that look as the kernel's do.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "sensor/rows.h"
#include "tests/cgroup/fake_kernel.h"

#define JOB     "sys/fs/cgroup/unified/hpcb/job_5"
#define RESCTRL "sys/fs/resctrl"
#define GROUP   RESCTRL "/mon_groups/hpcb_5"

static const char *root;
static hpcb_node_t *node;
static hpcb_sensor_job_t job;
static char dir[4096], moved[4096];
static const hpcb_knob_ops_t *inner;

/* Note what is written to a file called tasks. */
static int note_write(const char *path, const char *text, hpcb_error_t *err)
{
    size_t used = strlen(moved), length = strlen(path);

    if (length > 6 && strcmp(path + length - 6, "/tasks") == 0)
        snprintf(moved + used, sizeof(moved) - used, "%s ", text);
    return inner->write(path, text, err);
}

static void put(const char *path, const char *text)
{
    char command[8192];

    snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s/%s')\"", root, path);
    ck_assert_int_eq(system(command), 0);
    fake_write(path, text);
}

static void start(void)
{
    static hpcb_knob_ops_t ops;

    root = fake_start("v1-hybrid");
    inner = hpcb_knob_set_ops(NULL);
    ops = *inner;
    ops.write = note_write;
    hpcb_knob_set_ops(&ops);
    moved[0] = '\0';
    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
    snprintf(dir, sizeof(dir), "%s/" JOB, root);
    job = (hpcb_sensor_job_t){.node = node, .job_id = 5, .dir = dir};
}

static void stop(void)
{
    hpcb_node_close(node);
    hpcb_knob_set_ops(inner);
    fake_stop();
}

static void *opened(const hpcb_sensor_t *row)
{
    hpcb_error_t err;
    void *handle;

    ck_assert_msg(row->probe(node, &err) == 0, "%s", err.text);
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

static void port(const char *name, const char *rx, const char *tx)
{
    char path[256];

    snprintf(path, sizeof(path), "sys/class/infiniband/%s/counters/port_rcv_data",
             name);
    put(path, rx);
    snprintf(path, sizeof(path), "sys/class/infiniband/%s/counters/port_xmit_data",
             name);
    put(path, tx);
}

START_TEST(adds_up_the_ports)
{
    const hpcb_sensor_t *row = &hpcb_sensor_fabric;
    void *handle;

    start();
    port("mlx5_0/ports/1", "1000\n", "2000000000000\n");
    port("mlx5_0/ports/2", "10\n", "20\n");
    port("hfi1_0/ports/1", "1\n", "2\n");
    put("sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
    handle = opened(row);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_FABRIC_RX), 4 * 1011);
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_FABRIC_TX),
                      4 * UINT64_C(2000000000022));
    port("mlx5_0/ports/2", "11\n", "20\n");
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_FABRIC_RX), 4 * 1012);
    ck_assert(row->whole);
    row->close(handle);
    stop();
}
END_TEST

START_TEST(a_full_counter_is_none)
{
    uint64_t values[HPCB_FIGURES] = {0};
    const hpcb_sensor_t *row = &hpcb_sensor_fabric;
    hpcb_error_t err;
    void *handle;

    start();
    port("mthca0/ports/1", "4294967295\n", "7\n");
    handle = opened(row);
    ck_assert_int_eq(row->sample(handle, values, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "full"));
    row->close(handle);
    stop();
}
END_TEST

START_TEST(no_ports_no_fabric)
{
    hpcb_error_t err;

    start();
    ck_assert_int_eq(hpcb_sensor_fabric.probe(node, &err), -1);
    put("sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
    ck_assert_int_eq(hpcb_sensor_fabric.probe(node, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "no InfiniBand"));
    stop();
}
END_TEST

static void mount_resctrl(const char *features)
{
    put(RESCTRL "/tasks", "");
    put(RESCTRL "/info/L3_MON/mon_features", features);
    put(RESCTRL "/mon_groups/.keep", "");
}

static void domain(const char *name, const char *bytes)
{
    char path[256];

    snprintf(path, sizeof(path), GROUP "/mon_data/%s/mbm_total_bytes", name);
    put(path, bytes);
}

START_TEST(says_what_resctrl_lacks)
{
    hpcb_error_t err;

    start();
    ck_assert_int_eq(hpcb_sensor_resctrl.probe(node, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "not mounted"));
    mount_resctrl("llc_occupancy\n");
    ck_assert_int_eq(hpcb_sensor_resctrl.probe(node, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "does not monitor"));
    ck_assert_int_eq(fake_changes(), 0);
    stop();
}
END_TEST

static void *resctrl_job(void)
{
    mount_resctrl("llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n");
    put(JOB "/cgroup.threads", "");
    put(JOB "/0.0/cgroup.threads", "100\n101\n");
    put(JOB "/0.1/cgroup.threads", "200\n");
    put(GROUP "/tasks", "");
    return opened(&hpcb_sensor_resctrl);
}

START_TEST(takes_the_jobs_threads_in)
{
    void *handle;

    start();
    handle = resctrl_job();
    ck_assert_ptr_nonnull(strstr(moved, "100 "));
    ck_assert_ptr_nonnull(strstr(moved, "101 "));
    ck_assert_ptr_nonnull(strstr(moved, "200 "));
    /* The next step's. */
    put(JOB "/1.0/cgroup.threads", "300\n");
    ck_assert_int_eq(hpcb_sensor_resctrl.adopt(handle, &job, NULL), 0);
    ck_assert_ptr_nonnull(strstr(moved, "300 "));
    hpcb_sensor_resctrl.close(handle);
    stop();
}
END_TEST

START_TEST(adds_up_the_domains)
{
    const hpcb_sensor_t *row = &hpcb_sensor_resctrl;
    void *handle;

    start();
    handle = resctrl_job();
    domain("mon_L3_00", "1000000000000\n");
    domain("mon_L3_01", "234\n");
    put(GROUP "/mon_data/mon_sub_L3_00/mbm_total_bytes", "7\n");
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_TRANSFER),
                      UINT64_C(1000000000234));
    /* For a moment unknown is neither a reset nor a burst. */
    domain("mon_L3_00", "Unavailable\n");
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_TRANSFER),
                      UINT64_C(1000000000234));
    domain("mon_L3_00", "1000000000500\n");
    ck_assert_uint_eq(value(row, handle, HPCB_FIGURE_TRANSFER),
                      UINT64_C(1000000000734));
    ck_assert(!row->whole);
    row->close(handle);
    stop();
}
END_TEST

START_TEST(refuses_what_is_no_count)
{
    static const char *const bad[] = {"Error\n", "Unassigned\n", "", "12x\n",
                                      "99999999999999999999999\n"};
    uint64_t values[HPCB_FIGURES] = {0};
    void *handle;

    start();
    handle = resctrl_job();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        domain("mon_L3_00", bad[i]);
        ck_assert_int_eq(hpcb_sensor_resctrl.sample(handle, values, NULL), -1);
    }
    hpcb_sensor_resctrl.close(handle);
    stop();
}
END_TEST

START_TEST(no_group_no_figure)
{
    hpcb_error_t err;
    void *handle;

    start();
    mount_resctrl("mbm_total_bytes\n");
    put(JOB "/cgroup.threads", "100\n");
    put(GROUP "/tasks", "");
    /* A task in somebody's control group. */
    fake_fail("/tasks", EINVAL);
    ck_assert_int_eq(hpcb_sensor_resctrl.open(&job, &handle, &err), -1);
    /* One that has ended is no failure. */
    put(GROUP "/tasks", "");
    fake_fail("/tasks", ESRCH);
    ck_assert_int_eq(hpcb_sensor_resctrl.open(&job, &handle, &err), 0);
    hpcb_sensor_resctrl.close(handle);
    stop();
}
END_TEST

START_TEST(sweeps_what_a_dead_daemon_left)
{
    char path[8192];

    start();
    mount_resctrl("mbm_total_bytes\n");
    put(RESCTRL "/mon_groups/site/tasks", "");
    snprintf(path, sizeof(path), "%s/" RESCTRL "/mon_groups/hpcb_77", root);
    ck_assert_int_eq(hpcb_knob_mkdir(path, "", NULL), 0);
    hpcb_sensor_resctrl.sweep(node);
    ck_assert_int_ne(access(path, F_OK), 0);
    snprintf(path, sizeof(path), "%s/" RESCTRL "/mon_groups/site", root);
    ck_assert_int_eq(access(path, F_OK), 0);
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hardware");
    TCase *tcase = tcase_create("hardware");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, adds_up_the_ports);
    tcase_add_test(tcase, a_full_counter_is_none);
    tcase_add_test(tcase, no_ports_no_fabric);
    tcase_add_test(tcase, says_what_resctrl_lacks);
    tcase_add_test(tcase, takes_the_jobs_threads_in);
    tcase_add_test(tcase, adds_up_the_domains);
    tcase_add_test(tcase, refuses_what_is_no_count);
    tcase_add_test(tcase, no_group_no_figure);
    tcase_add_test(tcase, sweeps_what_a_dead_daemon_left);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
