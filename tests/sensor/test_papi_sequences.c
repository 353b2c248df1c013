/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What is made of the counters of documented Intel, AMD and Arm events over time.  The
 * counts are generated here, by a generator with a fixed seed, as the manuals that
 * sensor/papi.c names describe the events; no machine has produced them.  PAPI itself
 * is asked for software events of the kernel, which every machine has.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "policy/rate.h"
#include "sensor/counters.h"
#include "sensor/rows.h"
#include "sensor/sensor.h"
#include "tests/cgroup/fake_kernel.h"

#define JOB   "sys/fs/cgroup/unified/hpcb/job_%u"
#define UNIT  "sys/bus/event_source/devices/uncore_imc_%d/cpumask"
#define SETS  8
#define LINE  64
#define STEPS 400
#define SPEED UINT64_C(40000000) /* lines a quantum at most: 5 GB/s a counter */

/* One counter: what the hardware has counted, and how wide its register is. */
typedef struct {
    char name[96];
    uint64_t count;
    unsigned bits;
} counter_t;

typedef struct {
    size_t n; /* 0: closed */
    counter_t counters[HPCB_COUNTERS_MAX];
} set_t;

static set_t sets[SETS];
static const char *machine; /* beginning of the names of its events */
static unsigned width;      /* of its counters, as PAPI hands them on */

static int start_fake(hpcb_error_t *err)
{
    (void)err;
    return 0;
}

static int open_fake(const char *const *names, size_t n, pid_t tid, hpcb_error_t *err)
{
    size_t set = 0;

    (void)tid;
    while (set < SETS && sets[set].n > 0)
        set++;
    ck_assert_uint_lt(set, SETS);
    for (size_t i = 0; i < n; i++) {
        counter_t *counter = &sets[set].counters[i];

        if (strncmp(names[i], machine, strlen(machine)) != 0) {
            errno = ENOTSUP;
            return hpcb_error(err, "no event %s", names[i]);
        }
        *counter = (counter_t){.bits = width};
        snprintf(counter->name, sizeof(counter->name), "%s", names[i]);
    }
    sets[set].n = n;
    return (int)set;
}

static int read_fake(int set, long long *values, hpcb_error_t *err)
{
    (void)err;
    for (size_t i = 0; i < sets[set].n; i++) {
        const counter_t *counter = &sets[set].counters[i];
        uint64_t mask =
            counter->bits < 64 ? (UINT64_C(1) << counter->bits) - 1 : UINT64_MAX;

        values[i] = (long long)(counter->count & mask);
    }
    return 0;
}

static void close_fake(int set)
{
    sets[set].n = 0;
}

static const hpcb_counters_t fake = {start_fake, open_fake, read_fake, close_fake};

/* Lines that the next quantum brings. */
static uint64_t generate(void)
{
    static uint64_t state = 20261124;

    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % SPEED;
}

/* A quantum of all counters that are open; the lines in it. */
static uint64_t run(void)
{
    uint64_t lines = 0;

    for (size_t set = 0; set < SETS; set++) {
        for (size_t i = 0; i < sets[set].n; i++) {
            uint64_t more = generate();

            sets[set].counters[i].count += more;
            lines += more;
        }
    }
    return lines;
}

static hpcb_node_t *node;
static const char *root;

static void put(const char *path, const char *text)
{
    char command[8192];

    snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s/%s')\"", root, path);
    ck_assert_int_eq(system(command), 0);
    fake_write(path, text);
}

static void put_job(uint32_t id, const char *threads)
{
    char path[256];

    snprintf(path, sizeof(path), JOB "/cgroup.threads", id);
    put(path, "");
    snprintf(path, sizeof(path), JOB "/0.0/cgroup.threads", id);
    put(path, threads);
}

/* Two sockets, whose first CPUs are 0 and 28. */
static void put_controllers(int units)
{
    char path[128];

    for (int i = 0; i < units; i++) {
        snprintf(path, sizeof(path), UNIT, i);
        put(path, "0,28\n");
    }
}

static void start(const char *events, unsigned bits)
{
    memset(sets, 0, sizeof(sets));
    machine = events;
    width = bits;
    root = fake_start("v1-hybrid");
    hpcb_counters_use(&fake);
    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
}

static void stop(void)
{
    hpcb_counters_use(NULL);
    hpcb_node_close(node);
    fake_stop();
}

static void *opened(const hpcb_sensor_t *row)
{
    static char dir[4096];
    const hpcb_sensor_job_t job = {.node = node, .job_id = 5, .dir = dir};
    hpcb_error_t err;
    void *handle;

    snprintf(dir, sizeof(dir), "%s/" JOB, root, 5U);
    ck_assert_msg(row->open(&job, &handle, &err) == 0, "%s", err.text);
    return handle;
}

static uint64_t sampled(const hpcb_sensor_t *row, void *handle)
{
    uint64_t values[HPCB_FIGURES] = {0};

    ck_assert_int_eq(row->sample(handle, values, NULL), 0);
    return values[HPCB_FIGURE_TRANSFER];
}

static const struct {
    const char *events;
    const hpcb_sensor_t *row;
    size_t counters;
} vendors[] = {
    {"LONGEST_LAT_CACHE:MISS", &hpcb_sensor_papi_cores, 2},
    {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_", &hpcb_sensor_papi_cores, 4},
    {"DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_", &hpcb_sensor_papi_cores, 4},
    {"LL_CACHE_MISS_RD", &hpcb_sensor_papi_cores, 2},
    {"L3D_CACHE_REFILL", &hpcb_sensor_papi_cores, 2},
    {"spr_unc_imc", &hpcb_sensor_papi_sockets, 4 * 2 * 2},
    {"skx_unc_imc", &hpcb_sensor_papi_sockets, 4 * 2 * 2},
};

/* Each line once, from the first count to far beyond 32 bits. */
START_TEST(every_line_is_counted_once)
{
    const hpcb_sensor_t *row = vendors[_i].row;
    uint64_t lines = 0, begin;
    static hpcb_rate_t rate;
    double p95;
    void *handle;

    start(vendors[_i].events, 64);
    put_job(5, "100\n101\n");
    put_controllers(4);
    handle = opened(row);
    begin = sampled(row, handle);
    ck_assert_uint_eq(begin, 0);
    hpcb_rate_init(&rate, HPCB_RATE_WINDOW, HPCB_RATE_QUANTUM_US, 64);
    for (unsigned i = 1; i <= STEPS; i++) {
        hpcb_rate_add(&rate, i * HPCB_RATE_QUANTUM_US, sampled(row, handle));
        if (i < STEPS)
            lines += run();
    }
    ck_assert_uint_gt(lines, UINT32_MAX);
    ck_assert_uint_eq(hpcb_rate_total(&rate), lines * LINE);
    ck_assert_int_eq(hpcb_rate_quantile(&rate, 95, &p95), 0);
    ck_assert_double_gt(p95, 1e9 * (double)vendors[_i].counters);
    ck_assert_double_lt(p95, (double)(SPEED * LINE * 2 * vendors[_i].counters));
    row->close(handle);
    stop();
}
END_TEST

/* The controllers' registers have 48 bits.  The kernel widens them to 64; where that
 * fails, one quantum of one unit is lost, and no rate is invented. */
START_TEST(a_register_that_wraps_invents_nothing)
{
    const hpcb_sensor_t *row = &hpcb_sensor_papi_sockets;
    uint64_t lines = 0, lost = 0;
    static hpcb_rate_t rate;
    double p100;
    void *handle;

    start("icx_unc_imc", 48);
    put_controllers(4);
    handle = opened(row);
    sets[0].counters[3].count = (UINT64_C(1) << 48) - 100 * SPEED / 2;
    hpcb_rate_init(&rate, HPCB_RATE_WINDOW, HPCB_RATE_QUANTUM_US, 64);
    for (unsigned i = 1; i <= STEPS; i++) {
        uint64_t before = sets[0].counters[3].count >> 48, more;

        hpcb_rate_add(&rate, i * HPCB_RATE_QUANTUM_US, sampled(row, handle));
        more = i < STEPS ? run() : 0;
        lines += more;
        if (sets[0].counters[3].count >> 48 != before)
            lost += more;
    }
    ck_assert_uint_gt(lost, 0);
    ck_assert_uint_eq(hpcb_rate_total(&rate), (lines - lost) * LINE);
    ck_assert_int_eq(hpcb_rate_quantile(&rate, 100, &p100), 0);
    ck_assert_double_lt(p100, (double)(SPEED * LINE * 2) * 16 * 1.1);
    row->close(handle);
    stop();
}
END_TEST

/* A library that subtracts what it has read of a register that wrapped. */
START_TEST(a_negative_count_is_an_error)
{
    const hpcb_sensor_t *row = &hpcb_sensor_papi_cores;
    uint64_t values[HPCB_FIGURES] = {0};
    hpcb_error_t err;
    void *handle;

    start("LONGEST_LAT_CACHE:MISS", 64);
    put_job(5, "100\n");
    handle = opened(row);
    sets[0].counters[0].count = (uint64_t)-5;
    ck_assert_int_eq(row->sample(handle, values, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "-5"));
    row->close(handle);
    stop();
}
END_TEST

/* Counters that take turns in the hardware are estimates: the count, times the time
 * that they were wanted by the time that they ran.  An estimate may fall.  A fall is
 * passed over, a rise counts: with quanta that are no smaller than the error the total
 * stays within 2 %. */
START_TEST(estimates_of_counters_that_take_turns)
{
    const hpcb_sensor_t *row = &hpcb_sensor_papi_cores;
    static hpcb_rate_t rate;
    uint64_t lines = 0;
    void *handle;

    start("LONGEST_LAT_CACHE:MISS", 64);
    put_job(5, "100\n");
    handle = opened(row);
    hpcb_rate_init(&rate, HPCB_RATE_WINDOW, HPCB_RATE_QUANTUM_US, 64);
    for (unsigned i = 1; i <= STEPS; i++) {
        uint64_t enabled = i, running = (i + 1) / 2;

        /* Of two that take turns: scaled by enabled / running, 2 or a little less. */
        sets[0].counters[0].count = lines / 2 * enabled / running;
        hpcb_rate_add(&rate, i * HPCB_RATE_QUANTUM_US, sampled(row, handle));
        lines += SPEED;
    }
    lines -= SPEED;
    ck_assert_double_eq_tol((double)hpcb_rate_total(&rate) / (double)(lines * LINE), 1,
                            0.02);
    row->close(handle);
    stop();
}
END_TEST

/* As the first task of a job does. */
static void make_group(const char *name)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_UNIFIED);

    (void)hpcb_knob_mkdir(mount, "hpcb", NULL);
    ck_assert_int_eq(hpcb_knob_mkdir(mount, name, NULL), 0);
}

static hpcb_reading_t transfer(hpcb_sensed_t *of)
{
    hpcb_sample_t sample;

    hpcb_sensed_sample(of, &sample);
    return sample.figure[HPCB_FIGURE_TRANSFER];
}

/* Controllers of two sockets, two jobs: both see the sum, and neither is charged. */
START_TEST(two_jobs_on_a_socket_are_not_charged)
{
    static const hpcb_sensor_t *const rows[] = {&hpcb_sensor_papi_sockets};
    hpcb_sensing_t *sensing;
    hpcb_sensed_t *one, *two;
    uint64_t lines;

    start("skx_unc_imc", 64);
    make_group("hpcb/job_5");
    make_group("hpcb/job_6");
    put_controllers(3);
    ck_assert_int_eq(hpcb_sensing_open(node, rows, 1, &sensing, NULL), 0);
    ck_assert_ptr_null(hpcb_sensing_why_not(sensing, 0));
    ck_assert_int_eq(hpcb_sensed_open(sensing, 5, NULL, &one, NULL), 0);
    lines = run();
    hpcb_sensing_round(sensing);
    ck_assert_uint_eq(transfer(one).value, lines * LINE);
    ck_assert(!transfer(one).shared);
    ck_assert_int_eq(hpcb_sensed_open(sensing, 6, NULL, &two, NULL), 0);
    lines += run();
    hpcb_sensing_round(sensing);
    ck_assert_uint_eq(transfer(one).value, lines * LINE);
    ck_assert_uint_eq(transfer(two).value, lines * LINE);
    ck_assert(transfer(one).shared && transfer(two).shared);
    hpcb_sensed_close(one);
    hpcb_sensing_round(sensing);
    ck_assert(transfer(two).shared);
    hpcb_sensed_close(two);
    hpcb_sensing_close(sensing);
    stop();
}
END_TEST

/* The kernel counts page faults of the calling thread: PAPI's own path, 40 times, with
 * exact counts. */
START_TEST(papi_counts_software_events)
{
    static const char *const names[] = {"perf::PAGE-FAULTS"};
    const size_t pages = 1000, size = (size_t)sysconf(_SC_PAGESIZE);
    hpcb_error_t err;

    if (hpcb_counters_papi.start(&err) < 0) {
        fprintf(stderr, "# skipped: %s\n", err.text);
        return;
    }
    for (unsigned i = 0; i < 40; i++) {
        int set = hpcb_counters_papi.open(names, 1, 0, &err);
        long long before, after;
        char *block;

        if (set < 0) {
            ck_assert_uint_eq(i, 0);
            fprintf(stderr, "# skipped: %s\n", err.text);
            return;
        }
        block = mmap(NULL, pages * size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert(block != MAP_FAILED);
        (void)madvise(block, pages * size, MADV_NOHUGEPAGE);
        ck_assert_int_eq(hpcb_counters_papi.read(set, &before, &err), 0);
        for (size_t page = 0; page < pages; page++)
            block[page * size] = 1;
        ck_assert_int_eq(hpcb_counters_papi.read(set, &after, &err), 0);
        munmap(block, pages * size);
        hpcb_counters_papi.close(set);
        ck_assert_int_ge(after - before, (long long)pages);
        /* AddressSanitizer's shadow has an eighth of the pages. */
        ck_assert_int_le(after - before, (long long)(pages + pages / 8 + 50));
    }
    fprintf(stderr, "# 40 sets of PAPI counted %zu page faults each\n", pages);
}
END_TEST

/* PAPI's counters, but for the event: no machine need have instructions.  They are of
 * the calling thread (papi_attaches_or_says_why). */
static int open_faults(const char *const *names, size_t n, pid_t tid, hpcb_error_t *err)
{
    static const char *const faults[] = {"perf::PAGE-FAULTS"};

    (void)tid;
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(names[0], "PAPI_TOT_INS");
    return hpcb_counters_papi.open(faults, 1, 0, err);
}

/* The sensor of instructions on PAPI itself, as a job that has this thread. */
START_TEST(instructions_go_through_papi)
{
    const hpcb_sensor_t *row = &hpcb_sensor_papi_instructions;
    const hpcb_counters_t faults = {hpcb_counters_papi.start, open_faults,
                                    hpcb_counters_papi.read, hpcb_counters_papi.close};
    uint64_t before[HPCB_FIGURES] = {0}, after[HPCB_FIGURES] = {0};
    size_t size = (size_t)sysconf(_SC_PAGESIZE), pages = 1000;
    hpcb_error_t err = {""};
    void *handle;
    char *block, text[16];

    if (hpcb_counters_papi.start(&err) < 0) {
        fprintf(stderr, "# skipped: %s\n", err.text);
        return;
    }
    start("", 64);
    snprintf(text, sizeof(text), "%d\n", (int)gettid());
    put_job(5, text);
    hpcb_counters_use(&faults);
    if (row->probe(node, &err) < 0) {
        fprintf(stderr, "# skipped: %s\n", err.text);
        stop();
        return;
    }
    handle = opened(row);
    block = mmap(NULL, pages * size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(block != MAP_FAILED);
    (void)madvise(block, pages * size, MADV_NOHUGEPAGE);
    ck_assert_msg(row->sample(handle, before, &err) == 0, "%s", err.text);
    for (size_t page = 0; page < pages; page++)
        block[page * size] = 1;
    ck_assert_msg(row->sample(handle, after, &err) == 0, "%s", err.text);
    munmap(block, pages * size);
    row->close(handle);
    ck_assert_uint_ge(after[HPCB_FIGURE_INSTRUCTIONS],
                      before[HPCB_FIGURE_INSTRUCTIONS] + pages);
    stop();
}
END_TEST

/* With a thread and its children: PAPI asks the hardware whether it may, so that a
 * machine without counters says why. */
START_TEST(papi_attaches_or_says_why)
{
    static const char *const names[] = {"perf::PAGE-FAULTS"};
    hpcb_error_t err = {""};
    long long value;
    int set;

    if (hpcb_counters_papi.start(&err) < 0) {
        fprintf(stderr, "# skipped: %s\n", err.text);
        return;
    }
    set = hpcb_counters_papi.open(names, 1, gettid(), &err);
    if (set < 0) {
        ck_assert_str_ne(err.text, "");
        fprintf(stderr, "# %s\n", err.text);
        return;
    }
    ck_assert_int_eq(hpcb_counters_papi.read(set, &value, &err), 0);
    hpcb_counters_papi.close(set);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("papi_sequences");
    TCase *tcase = tcase_create("papi_sequences");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, every_line_is_counted_once, 0,
                        sizeof(vendors) / sizeof(vendors[0]));
    tcase_add_test(tcase, a_register_that_wraps_invents_nothing);
    tcase_add_test(tcase, a_negative_count_is_an_error);
    tcase_add_test(tcase, estimates_of_counters_that_take_turns);
    tcase_add_test(tcase, two_jobs_on_a_socket_are_not_charged);
    tcase_add_test(tcase, papi_counts_software_events);
    tcase_add_test(tcase, instructions_go_through_papi);
    tcase_add_test(tcase, papi_attaches_or_says_why);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
