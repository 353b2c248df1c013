/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Bursts on this machine, which may be as loaded as it likes: no rate is asserted. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "policy/cpus.h"
#include "sensor/probe.h"
#include "tests/cgroup/fake_kernel.h"

#define GIB   (UINT64_C(1) << 30)
#define BLOCK ((size_t)4 << 20)
#define CACHE "sys/devices/system/cpu/cpu0/cache/index%d/size"

static const char *root;

static void put_cache(int index, const char *size)
{
    char command[4096], path[128];

    snprintf(path, sizeof(path), CACHE, index);
    snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s/%s')\"", root, path);
    ck_assert_int_eq(system(command), 0);
    fake_write(path, size);
}

START_TEST(a_block_is_twice_the_largest_cache)
{
    hpcb_node_t *node;
    hpcb_error_t err = {""};

    root = fake_start("v1-hybrid");
    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
    ck_assert_uint_eq(hpcb_probe_block(node, 64 * GIB, &err), (size_t)64 << 20);
    put_cache(0, "32K\n");
    put_cache(2, "1024K\n");
    put_cache(3, "107520K\n");
    ck_assert_uint_eq(hpcb_probe_block(node, 64 * GIB, &err), (size_t)210 << 20);
    ck_assert_uint_eq(hpcb_probe_block(node, GIB, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "105 MiB"));
    put_cache(3, "no size\n");
    ck_assert_uint_eq(hpcb_probe_block(node, 64 * GIB, &err), (size_t)2 << 20);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

static uint64_t cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static unsigned a_cpu(void)
{
    hpcb_cpus_t mine = {0};

    ck_assert_int_eq(sched_getaffinity(0, sizeof(mine), (cpu_set_t *)&mine), 0);
    return hpcb_cpus_from(&mine, 0);
}

/* A burst has an end, whoever else is at work, and says so if it was disturbed. */
START_TEST(bursts_end)
{
    const unsigned bursts = 50, cpu = a_cpu();
    hpcb_cpus_t before = {0}, after = {0};
    hpcb_probe_t *probe;
    unsigned done = 0;
    hpcb_error_t err;
    uint64_t used;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(before), (cpu_set_t *)&before), 0);
    ck_assert_msg(hpcb_probe_open(cpu, BLOCK, &probe, &err) == 0, "%s", err.text);
    used = cpu_us();
    for (unsigned i = 0; i < bursts; i++) {
        uint64_t memory = 0, cache = 0;

        if (hpcb_probe_burst(probe, cpu, &memory, &cache) < 0) {
            ck_assert_int_eq(errno, EBUSY);
            ck_assert(memory == 0 && cache == 0);
            continue;
        }
        ck_assert(memory > 0 && cache > 0);
        done++;
    }
    used = (cpu_us() - used) / bursts;
    fprintf(stderr, "# %u of %u bursts, %llu us of CPU each\n", done, bursts,
            (unsigned long long)used);
    /* A look at the clock may come late by what a chunk takes, under valgrind, too. */
    ck_assert_uint_lt(used, 100 * HPCB_PROBE_BURST_US);
    ck_assert_int_eq(sched_getaffinity(0, sizeof(after), (cpu_set_t *)&after), 0);
    ck_assert(hpcb_cpus_within(&before, &after));
    hpcb_probe_close(probe);
}
END_TEST

START_TEST(a_cpu_that_is_not_there)
{
    uint64_t memory = 7, cache = 7;
    hpcb_probe_t *probe;
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_probe_open(HPCB_CPUS_MAX - 1, BLOCK, &probe, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot run on CPU"));
    ck_assert_int_eq(hpcb_probe_open(a_cpu(), BLOCK, &probe, &err), 0);
    ck_assert_int_eq(hpcb_probe_burst(probe, HPCB_CPUS_MAX - 1, &memory, &cache), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert(memory == 7 && cache == 7);
    hpcb_probe_close(probe);
    hpcb_probe_close(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe");
    TCase *tcase = tcase_create("probe");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_block_is_twice_the_largest_cache);
    tcase_add_test(tcase, bursts_end);
    tcase_add_test(tcase, a_cpu_that_is_not_there);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
