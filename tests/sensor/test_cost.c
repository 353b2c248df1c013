/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a sample costs: 20 jobs of four tasks each, all sensors that this node has, on
 * the running kernel.  CPU time is compared, not time, so other load does not matter
 * much.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "policy/rate.h"
#include "sensor/meter.h"
#include "sensor/sensor.h"
#include "tests/cgroup/real_kernel.h"

#define JOBS   20
#define TASKS  4
#define ROUNDS 500
#define LIMIT  0.2 /* percent of one CPU, at one round a quantum */

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void open_jobs(hpcb_node_t *node, hpcb_sensing_t *sensing, hpcb_sensed_t **jobs)
{
    pid_t pid = real_fork();
    hpcb_error_t err;

    if (pid == 0) {
        for (;;)
            real_sleep_ms(1000);
    }
    for (uint32_t i = 0; i < JOBS; i++) {
        for (uint32_t task = 0; task < TASKS; task++)
            ck_assert_int_eq(hpcb_meter_attach(node, 100 + i, "0", task, pid, NULL), 0);
        ck_assert_msg(hpcb_sensed_open(sensing, 100 + i, NULL, &jobs[i], &err) == 0,
                      "%s", err.text);
    }
}

static void rounds(hpcb_sensing_t *sensing, hpcb_sensed_t **jobs, hpcb_rate_t *rates,
                   unsigned count)
{
    for (unsigned n = 1; n <= count; n++) {
        hpcb_sensing_round(sensing);
        for (size_t i = 0; i < JOBS; i++) {
            hpcb_sample_t sample;

            hpcb_sensed_sample(jobs[i], &sample);
            hpcb_rate_add(&rates[i], (uint64_t)n * HPCB_RATE_QUANTUM_US,
                          sample.figure[HPCB_FIGURE_NETWORK_TX].value);
        }
    }
}

START_TEST(twenty_jobs)
{
    static hpcb_rate_t rates[JOBS];
    hpcb_sensed_t *jobs[JOBS];
    const hpcb_sensor_t *const *rows;
    hpcb_sensing_t *sensing;
    hpcb_node_t *node;
    double used, percent;
    size_t count;

    if (!real_enter()) {
        fprintf(stderr, "# skipped: %s\n", real_why());
        return;
    }
    ck_assert_int_eq(hpcb_node_open("/", &node, NULL), 0);
    rows = hpcb_sensors(&count);
    ck_assert_int_eq(hpcb_sensing_open(node, rows, count, &sensing, NULL), 0);
    open_jobs(node, sensing, jobs);
    for (size_t i = 0; i < JOBS; i++)
        hpcb_rate_init(&rates[i], HPCB_RATE_WINDOW, HPCB_RATE_QUANTUM_US, 64);
    used = cpu_seconds();
    rounds(sensing, jobs, rates, ROUNDS);
    used = cpu_seconds() - used;
    percent = used / ROUNDS / (HPCB_RATE_QUANTUM_US / 1e6) * 100;
    fprintf(stderr,
            "# %d jobs of %d tasks: %.0f us of CPU a round, %.3f %% of one CPU\n", JOBS,
            TASKS, used / ROUNDS * 1e6, percent);
    ck_assert_double_lt(percent, LIMIT);
    for (size_t i = 0; i < JOBS; i++)
        hpcb_sensed_close(jobs[i]);
    hpcb_sensing_close(sensing);
    hpcb_node_close(node);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost");
    TCase *tcase = tcase_create("cost");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_unchecked_fixture(tcase, real_setup, real_teardown);
    tcase_add_test(tcase, twenty_jobs);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
