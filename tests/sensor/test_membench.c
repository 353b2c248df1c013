/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* membench counts what it moves, whatever the machine is doing meanwhile. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "sensor/membench_cache.h"
#include "sensor/membench_kernel.h"
#include "sensor/membench_run.h"

#define MIB   ((size_t)1 << 20)
#define WORDS 32768 /* of the largest chunk */

START_TEST(chunk_counts_what_the_kernel_touches)
{
    static const size_t strides[] = {1, 2, 3, 5, 7, 8, 9, 16, 100, 255, 2048, 4096};
    size_t stride = strides[_i];
    hpcb_membench_chunk_t chunk = hpcb_membench_chunk(stride, 64, false);
    hpcb_membench_word_t *words = calloc(WORDS, sizeof(*words));
    size_t lines = 0;

    ck_assert_uint_le(chunk.span, WORDS);
    for (size_t i = 0; i < WORDS; i++)
        words[i] = i < chunk.span && i % stride == 0;
    ck_assert(hpcb_membench_read(words, &chunk, stride) == (double)chunk.accesses);
    /* It writes what it reads and nothing else. */
    memset(words, 0, WORDS * sizeof(*words));
    ck_assert(hpcb_membench_write(words, &chunk, stride) == 0);
    for (size_t i = 0; i < WORDS; i++)
        ck_assert(words[i] == (i < chunk.span && i % stride == 0));
    for (size_t i = 0; i < WORDS; i += 8) {
        bool touched = false;

        for (size_t j = i; j < i + 8; j++)
            touched |= words[j] != 0;
        lines += touched;
    }
    ck_assert_uint_eq(chunk.bytes, lines * 64);
    ck_assert_uint_eq(hpcb_membench_chunk(stride, 64, true).bytes, 2 * lines * 64);
    free(words);
}
END_TEST

START_TEST(chunk_knows_the_line)
{
    /* POWER has lines of 128 bytes: a stride of 8 words touches each of them twice. */
    ck_assert_uint_eq(hpcb_membench_chunk(8, 128, false).bytes, 16384);
    ck_assert_uint_eq(hpcb_membench_chunk(16, 128, false).bytes, 16384);
    ck_assert_uint_eq(hpcb_membench_chunk(32, 128, false).bytes, 8192);
}
END_TEST

static hpcb_membench_cache_t cache_of(const char *synthetic, const char *list)
{
    hpcb_membench_cache_t cache;
    hpcb_cpus_t cpus = {0};
    hpcb_error_t err;

    ck_assert(!list || hpcb_cpus_parse(list, &cpus) == 0);
    ck_assert_msg(hpcb_membench_cache(synthetic, list ? &cpus : NULL, &cache, &err) ==
                      0,
                  "%s", err.text);
    return cache;
}

#define CCX "pack:1 l3:2(size=33554432) l2:4(size=1048576) core:1 pu:2"

START_TEST(block_is_larger_than_the_caches)
{
    /* 32 MiB and 4 x 1 MiB above it, eight threads; hwloc gives the caches lines of 64.
     */
    size_t caches = 36 * MIB;

    ck_assert_uint_eq(cache_of(CCX, NULL).last_level, 32 * MIB);
    ck_assert_uint_eq(cache_of(CCX, NULL).block, 8 * caches);
    ck_assert_uint_eq(cache_of(CCX, "0").block, 8 * caches);
    ck_assert_uint_eq(cache_of(CCX, "0-15").block, 8 * caches / 8);
    ck_assert_uint_eq(cache_of(CCX, "0-3").block, 8 * caches / 4);
    /* One thread has a cache for itself: it asks for most, and all blocks are equal. */
    ck_assert_uint_eq(cache_of(CCX, "0-7,8").block, 8 * caches);
}
END_TEST

START_TEST(block_where_hwloc_knows_no_cache)
{
    hpcb_membench_cache_t cache = cache_of("pack:1 core:2 pu:1", NULL);

    ck_assert_uint_eq(cache.last_level, 0);
    ck_assert_uint_eq(cache.line, 64);
    ck_assert_uint_eq(cache.block, 256 * MIB);
    ck_assert_uint_eq(cache_of("l2:1(size=262144) core:1 pu:1", "0").block, 16 * MIB);
}
END_TEST

START_TEST(bad_topology_is_an_error)
{
    hpcb_membench_cache_t cache = {.block = 7};
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_membench_cache("no such thing", NULL, &cache, &err), -1);
    ck_assert_uint_eq(cache.block, 7);
}
END_TEST

static hpcb_membench_options_t small(unsigned threads)
{
    return (hpcb_membench_options_t){.threads = threads, .block = MIB, .line = 64};
}

static void count(double when, uint64_t bytes, void *arg)
{
    uint64_t *seen = arg;

    (void)when;
    ck_assert_uint_ge(bytes, seen[1]);
    seen[0]++;
    seen[1] = bytes;
}

START_TEST(passes_count_every_byte)
{
    hpcb_membench_options_t options = small(3);
    hpcb_membench_t *bench;
    hpcb_error_t err;
    double longest = 0;

    ck_assert_msg(hpcb_membench_open(&options, &bench, &err) == 0, "%s", err.text);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t seen[2] = {0};
        hpcb_membench_pass_t pass = {.stride = i + 1,
                                     .reuse = i % 2 + 1,
                                     .write = i >= 2,
                                     .seconds = 0.05,
                                     .every = 0.005,
                                     .sample = count,
                                     .arg = seen};
        hpcb_membench_chunk_t chunk = hpcb_membench_chunk(i + 1, 64, i >= 2);
        hpcb_membench_result_t result;

        ck_assert_msg(hpcb_membench_pass(bench, &pass, &result, &err) == 0, "%s",
                      err.text);
        ck_assert_uint_gt(result.bytes, 0);
        ck_assert_uint_eq(result.bytes % chunk.bytes, 0);
        ck_assert_uint_eq(result.bytes / chunk.bytes * chunk.accesses * pass.reuse,
                          result.accesses);
        ck_assert_uint_ge(seen[0], 2);
        ck_assert_uint_eq(seen[1], result.bytes);
        if (result.end - result.start > longest)
            longest = result.end - result.start;
    }
    /* On a machine that is busy a thread may begin late: not in all of them. */
    ck_assert(longest >= 0.04);
    hpcb_membench_close(bench);
}
END_TEST

static void stop_at_once(double when, uint64_t bytes, void *arg)
{
    (void)when;
    (void)bytes;
    hpcb_membench_stop(*(hpcb_membench_t **)arg);
}

START_TEST(stop_ends_a_pass)
{
    hpcb_membench_options_t options = small(2);
    hpcb_membench_t *bench;
    hpcb_membench_pass_t pass = {.stride = 8,
                                 .reuse = 1,
                                 .seconds = 1000,
                                 .sample = stop_at_once,
                                 .arg = &bench};
    hpcb_membench_result_t result;
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_membench_open(&options, &bench, &err), 0);
    ck_assert_int_eq(hpcb_membench_pass(bench, &pass, &result, &err), 0);
    /* And that one only. */
    pass = (hpcb_membench_pass_t){.stride = 8, .reuse = 1, .seconds = 0.02};
    ck_assert_int_eq(hpcb_membench_pass(bench, &pass, &result, &err), 0);
    ck_assert_uint_gt(result.bytes, 0);
    hpcb_membench_close(bench);
}
END_TEST

START_TEST(too_much_memory_is_refused)
{
    hpcb_membench_options_t options = small(2);
    hpcb_membench_t *bench = NULL;
    hpcb_error_t err;

    options.block = (size_t)1 << 46;
    ck_assert_int_eq(hpcb_membench_open(&options, &bench, &err), -1);
    ck_assert_int_eq(errno, ENOMEM);
    options.block = SIZE_MAX;
    ck_assert_int_eq(hpcb_membench_open(&options, &bench, &err), -1);
    ck_assert_ptr_null(bench);
}
END_TEST

START_TEST(cpus_that_cannot_be_had_are_refused)
{
    hpcb_membench_options_t options = small(2);
    hpcb_membench_t *bench = NULL;
    hpcb_cpus_t cpus = {0};
    hpcb_error_t err;

    options.cpus = &cpus;
    hpcb_cpus_add(&cpus, 0);
    ck_assert_int_eq(hpcb_membench_open(&options, &bench, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    hpcb_cpus_add(&cpus, HPCB_CPUS_MAX - 1);
    ck_assert_int_eq(hpcb_membench_open(&options, &bench, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "CPU 8191"));
    ck_assert_ptr_null(bench);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("membench");
    TCase *tests = tcase_create("membench");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, chunk_counts_what_the_kernel_touches, 0, 12);
    tcase_add_test(tests, chunk_knows_the_line);
    tcase_add_test(tests, block_is_larger_than_the_caches);
    tcase_add_test(tests, block_where_hwloc_knows_no_cache);
    tcase_add_test(tests, bad_topology_is_an_error);
    tcase_add_test(tests, passes_count_every_byte);
    tcase_add_test(tests, stop_ends_a_pass);
    tcase_add_test(tests, too_much_memory_is_refused);
    tcase_add_test(tests, cpus_that_cannot_be_had_are_refused);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
