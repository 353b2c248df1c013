/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The sensors on PAPI, with counters that this test makes up: no machine that it runs
 * on need have any.  What is generated are the counts; names of events and bytes of
 * each are those of the tables.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy/rate.h"
#include "sensor/counters.h"
#include "sensor/papi.h"
#include "sensor/rows.h"
#include "tests/cgroup/fake_kernel.h"

#define JOB  "sys/fs/cgroup/unified/hpcb/job_5"
#define UNIT "sys/bus/event_source/devices/uncore_imc_%d/cpumask"
#define SETS 64

/* A machine that has the events that start with one of these, and no others. */
static const char *has[4];
static const char *missing_counters;
static struct {
    bool open;
    size_t n;
    pid_t tid;
} sets[SETS];
static long long count; /* each counter's value */
static char asked[8192];
static bool broken;

static int start_fake(hpcb_error_t *err)
{
    return missing_counters ? hpcb_error(err, "%s", missing_counters) : 0;
}

static bool known(const char *name)
{
    for (size_t i = 0; i < 4 && has[i]; i++) {
        if (strncmp(name, has[i], strlen(has[i])) == 0)
            return true;
    }
    return false;
}

static int open_fake(const char *const *names, size_t n, pid_t tid, hpcb_error_t *err)
{
    int set = 0;

    for (size_t i = 0; i < n; i++) {
        if (!known(names[i])) {
            errno = ENOTSUP;
            return hpcb_error(err, "no event %s", names[i]);
        }
        snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), "%s ", names[i]);
    }
    if (tid == 404) {
        errno = ESRCH;
        return hpcb_error(err, "gone");
    }
    while (sets[set].open)
        set++;
    sets[set].open = true;
    sets[set].n = n;
    sets[set].tid = tid;
    return set;
}

static int read_fake(int set, long long *values, hpcb_error_t *err)
{
    if (broken)
        return hpcb_error(err, "broken");
    for (size_t i = 0; i < sets[set].n; i++)
        values[i] = count;
    return 0;
}

static void close_fake(int set)
{
    ck_assert(sets[set].open);
    sets[set].open = false;
}

static const hpcb_counters_t fake = {start_fake, open_fake, read_fake, close_fake};

static size_t open_sets(void)
{
    size_t n = 0;

    for (size_t i = 0; i < SETS; i++)
        n += sets[i].open;
    return n;
}

static const char *root;
static hpcb_node_t *node;
static hpcb_sensor_job_t job;
static char dir[4096];

static void put(const char *path, const char *text)
{
    char command[8192];

    snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s/%s')\"", root, path);
    ck_assert_int_eq(system(command), 0);
    fake_write(path, text);
}

static void start(const char *first, const char *second)
{
    memset(sets, 0, sizeof(sets));
    asked[0] = '\0';
    count = 0;
    broken = false;
    missing_counters = NULL;
    has[0] = first;
    has[1] = second;
    root = fake_start("v1-hybrid");
    hpcb_counters_use(&fake);
    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
    snprintf(dir, sizeof(dir), "%s/" JOB, root);
    job = (hpcb_sensor_job_t){.node = node, .job_id = 5, .dir = dir};
}

static void stop(void)
{
    hpcb_counters_use(NULL);
    hpcb_node_close(node);
    fake_stop();
}

static uint64_t bytes(const hpcb_sensor_t *row, void *handle)
{
    uint64_t values[HPCB_FIGURES] = {0};
    hpcb_error_t err;

    ck_assert_msg(row->sample(handle, values, &err) == 0, "%s", err.text);
    return values[HPCB_FIGURE_TRANSFER];
}

static void *opened(const hpcb_sensor_t *row)
{
    hpcb_error_t err;
    void *handle;

    ck_assert_msg(row->probe(node, &err) == 0, "%s", err.text);
    ck_assert_int_eq((int)open_sets(), 0);
    ck_assert_msg(row->open(&job, &handle, &err) == 0, "%s", err.text);
    return handle;
}

/* By vendor: what the machine has, and counters for each thread. */
static const struct {
    const char *event;
    unsigned counters;
} cores[] = {
    {"LONGEST_LAT_CACHE:MISS", 1},
    {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_", 2},
    {"DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_", 2},
    {"LL_CACHE_MISS_RD", 1},
    {"L3D_CACHE_REFILL", 1},
};

START_TEST(cores_count_lines_of_the_jobs_threads)
{
    const hpcb_sensor_t *row = &hpcb_sensor_papi_cores;
    void *handle;

    start(cores[_i].event, NULL);
    put(JOB "/cgroup.threads", "");
    put(JOB "/0.0/cgroup.threads", "100\n101\n404\n");
    handle = opened(row);
    ck_assert_uint_eq(open_sets(), 2);
    count = 1000;
    ck_assert_uint_eq(bytes(row, handle), 2 * 64000 * cores[_i].counters);
    /* The next step.  A new thread of the first one is counted with its maker. */
    put(JOB "/0.0/cgroup.threads", "100\n101\n102\n");
    put(JOB "/1.0/cgroup.threads", "300\n");
    ck_assert_int_eq(row->adopt(handle, &job, NULL), 0);
    ck_assert_uint_eq(open_sets(), 3);
    ck_assert_uint_eq(bytes(row, handle), 3 * 64000 * cores[_i].counters);
    ck_assert(!row->whole);
    row->close(handle);
    ck_assert_uint_eq(open_sets(), 0);
    stop();
}
END_TEST

/* A step that has ended keeps no counters, and what it has counted stays. */
START_TEST(steps_that_have_ended_give_their_counters_back)
{
    const hpcb_sensor_t *row = &hpcb_sensor_papi_cores;
    void *handle;

    start("LONGEST_LAT_CACHE:MISS", NULL);
    put(JOB "/cgroup.threads", "");
    put(JOB "/0.0/cgroup.threads", "100\n101\n");
    put(JOB "/1.0/cgroup.threads", "300\n");
    handle = opened(row);
    ck_assert_uint_eq(open_sets(), 3);
    count = 1000;
    for (int step = 2; step < 5000; step++) {
        fake_write(JOB "/0.0/cgroup.threads", step % 2 ? "400\n401\n" : "");
        ck_assert_int_eq(row->adopt(handle, &job, NULL), 0);
        ck_assert_uint_eq(open_sets(), step % 2 ? 3 : 1);
        ck_assert_uint_eq(bytes(row, handle),
                          (1 + (step + 1) / 2 * 2) * UINT64_C(64000));
    }
    put(JOB "/1.0/cgroup.threads", "");
    broken = true;
    ck_assert_int_eq(row->adopt(handle, &job, NULL), -1);
    row->close(handle);
    ck_assert_uint_eq(open_sets(), 0);
    stop();
}
END_TEST

/* As they are, of the preset or, where PAPI has none, of the kernel's event. */
START_TEST(cores_count_instructions)
{
    static const char *const events[] = {"PAPI_TOT_INS", "perf::INSTRUCTIONS"};
    const hpcb_sensor_t *row = &hpcb_sensor_papi_instructions;
    uint64_t values[HPCB_FIGURES] = {0};
    void *handle;

    start(events[_i], NULL);
    put(JOB "/cgroup.threads", "");
    put(JOB "/0.0/cgroup.threads", "100\n101\n404\n");
    handle = opened(row);
    count = 12345;
    ck_assert_int_eq(row->sample(handle, values, NULL), 0);
    ck_assert_uint_eq(values[HPCB_FIGURE_INSTRUCTIONS], 2 * 12345);
    ck_assert_uint_eq(values[HPCB_FIGURE_TRANSFER], 0);
    ck_assert_int_eq(hpcb_sensor_papi_cores.probe(node, NULL), -1);
    row->close(handle);
    ck_assert_uint_eq(open_sets(), 0);
    stop();
}
END_TEST

START_TEST(no_event_no_sensor)
{
    hpcb_error_t err;

    start(NULL, NULL);
    ck_assert_int_eq(hpcb_sensor_papi_cores.probe(node, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "no event"));
    ck_assert_int_eq(hpcb_sensor_papi_sockets.probe(node, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "no driver"));
    missing_counters = "built without PAPI";
    ck_assert_int_eq(hpcb_sensor_papi_cores.probe(node, &err), -1);
    ck_assert_str_eq(err.text, "built without PAPI");
    ck_assert_int_eq(hpcb_sensor_papi_sockets.probe(node, &err), -1);
    ck_assert_str_eq(err.text, "built without PAPI");
    stop();
}
END_TEST

START_TEST(half_of_a_row_is_none)
{
    hpcb_error_t err;

    start("ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR", NULL);
    ck_assert_int_eq(hpcb_sensor_papi_cores.probe(node, &err), -1);
    ck_assert_uint_eq(open_sets(), 0);
    stop();
}
END_TEST

static void controllers(const char *cpumask, int units)
{
    char path[128];

    for (int i = 0; i < units; i++) {
        snprintf(path, sizeof(path), UNIT, i);
        put(path, cpumask);
    }
}

START_TEST(sockets_count_reads_and_writes)
{
    static const char *const units[] = {
        "spr_unc_imc",   "icx_unc_imc",   "skx_unc_imc",  "bdx_unc_imc",
        "hswep_unc_imc", "ivbep_unc_imc", "snbep_unc_imc"};
    const hpcb_sensor_t *row = &hpcb_sensor_papi_sockets;
    char event[96];
    void *handle;

    start(units[_i], NULL);
    controllers("0,28\n", 6);
    handle = opened(row);
    asked[0] = '\0';
    row->close(handle);
    ck_assert_int_eq(row->open(&job, &handle, NULL), 0);
    snprintf(event, sizeof(event), "%s5::UNC_M_CAS_COUNT:WR:cpu=28 ", units[_i]);
    ck_assert_ptr_nonnull(strstr(asked, event));
    count = 10;
    /* 6 units, 2 sockets, reads and writes. */
    ck_assert_uint_eq(bytes(row, handle), 6 * 2 * 2 * 10 * 64);
    ck_assert(row->whole);
    row->close(handle);
    ck_assert_uint_eq(open_sets(), 0);
    stop();
}
END_TEST

/* Sockets whose first CPUs follow one another. */
START_TEST(first_cpus_may_be_a_range)
{
    const hpcb_sensor_t *row = &hpcb_sensor_papi_sockets;
    void *handle;

    start("skx_unc_imc", NULL);
    controllers("0-1\n", 1);
    asked[0] = '\0';
    handle = opened(row);
    ck_assert_ptr_nonnull(strstr(asked, ":cpu=0 "));
    ck_assert_ptr_nonnull(strstr(asked, ":cpu=1 "));
    ck_assert_ptr_null(strstr(asked, ":cpu=4294967295"));
    row->close(handle);
    stop();
}
END_TEST

START_TEST(a_failure_to_read_is_told)
{
    const hpcb_sensor_t *row = &hpcb_sensor_papi_sockets;
    uint64_t values[HPCB_FIGURES] = {0};
    void *handle;

    start("skx_unc_imc", NULL);
    controllers("0\n", 1);
    handle = opened(row);
    broken = true;
    ck_assert_int_eq(row->sample(handle, values, NULL), -1);
    row->close(handle);
    stop();
}
END_TEST

/* A phase of 1 GB/s after one of 100 MB/s, in a counter of lines. */
START_TEST(counts_become_rates)
{
    const hpcb_sensor_t *row = &hpcb_sensor_papi_cores;
    static hpcb_rate_t rate;
    double p95;
    void *handle;

    start("LONGEST_LAT_CACHE:MISS", NULL);
    put(JOB "/cgroup.threads", "");
    put(JOB "/0.0/cgroup.threads", "100\n");
    handle = opened(row);
    hpcb_rate_init(&rate, HPCB_RATE_WINDOW, HPCB_RATE_QUANTUM_US, 64);
    for (unsigned i = 0; i <= 200; i++) {
        hpcb_rate_add(&rate, (uint64_t)(i + 1) * HPCB_RATE_QUANTUM_US,
                      bytes(row, handle));
        count += (i < 100 ? 100000000 : 1000000000) / 2 / 64;
    }
    ck_assert_int_eq(hpcb_rate_quantile(&rate, 95, &p95), 0);
    ck_assert_double_eq_tol(p95, 1e9, 1e7);
    ck_assert_int_eq(hpcb_rate_quantile(&rate, 40, &p95), 0);
    ck_assert_double_eq_tol(p95, 1e8, 1e6);
    row->close(handle);
    stop();
}
END_TEST

/* PAPI itself, where it was built in: a machine without counters says why. */
START_TEST(asks_papi)
{
    hpcb_error_t err = {""};

    start(NULL, NULL);
    hpcb_counters_use(NULL);
    if (hpcb_sensor_papi_cores.probe(node, &err) == 0)
        fprintf(stderr, "# this machine's cores count memory\n");
    else
        fprintf(stderr, "# %s\n", err.text);
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("papi");
    TCase *tcase = tcase_create("papi");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, cores_count_lines_of_the_jobs_threads, 0, 5);
    tcase_add_test(tcase, steps_that_have_ended_give_their_counters_back);
    tcase_add_loop_test(tcase, cores_count_instructions, 0, 2);
    tcase_add_test(tcase, no_event_no_sensor);
    tcase_add_test(tcase, half_of_a_row_is_none);
    tcase_add_loop_test(tcase, sockets_count_reads_and_writes, 0, 7);
    tcase_add_test(tcase, first_cpus_may_be_a_range);
    tcase_add_test(tcase, a_failure_to_read_is_told);
    tcase_add_test(tcase, counts_become_rates);
    tcase_add_test(tcase, asks_papi);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
