/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdlib.h>
#include "policy/lend.h"

#define MIB    (UINT64_C(1) << 20)
#define GIB    (UINT64_C(1) << 30)
#define SETTLE 60
#define ROUNDS 200000

static const hpcb_lend_job_t settled = {.promised = 100 * GIB,
                                        .reported = true,
                                        .used = 8 * GIB,
                                        .peak = 8 * GIB,
                                        .age = 600};

START_TEST(a_job_that_settled_is_expected_to_stay)
{
    ck_assert_uint_eq(hpcb_lend_expected(&settled, SETTLE), 9 * GIB);
}
END_TEST

START_TEST(growth_and_peaks_count)
{
    hpcb_lend_job_t grows = settled, fell = settled;

    grows.growth = GIB;
    ck_assert_uint_eq(hpcb_lend_expected(&grows, SETTLE), 38 * GIB + 38 * GIB / 8);
    fell.peak = 16 * GIB;
    ck_assert_uint_eq(hpcb_lend_expected(&fell, SETTLE), 18 * GIB);
}
END_TEST

START_TEST(a_profile_counts_before_the_job_has_settled)
{
    hpcb_lend_job_t known = settled;

    known.age = 0;
    ck_assert_uint_eq(hpcb_lend_expected(&known, SETTLE), 100 * GIB);
    known.profile = 40 * GIB;
    ck_assert_uint_eq(hpcb_lend_expected(&known, SETTLE), 45 * GIB);
    known.profile = 4 * GIB;
    ck_assert_uint_eq(hpcb_lend_expected(&known, SETTLE), 9 * GIB);
}
END_TEST

START_TEST(without_a_report_all_is_used)
{
    hpcb_lend_job_t silent = settled;

    silent.reported = false;
    silent.profile = GIB;
    ck_assert_uint_eq(hpcb_lend_expected(&silent, SETTLE), 100 * GIB);
}
END_TEST

START_TEST(a_job_beyond_its_promise_has_what_it_has)
{
    hpcb_lend_job_t greedy = settled;

    greedy.used = greedy.peak = 120 * GIB;
    ck_assert_uint_eq(hpcb_lend_expected(&greedy, SETTLE), 120 * GIB);
    greedy.age = 0;
    ck_assert_uint_eq(hpcb_lend_expected(&greedy, SETTLE), 120 * GIB);
}
END_TEST

START_TEST(the_reserve_is_a_part_or_a_size)
{
    const hpcb_lend_reserve_t part = {.percent = 5}, size = {.bytes = 3 * GIB},
                              none = {0, 0};

    ck_assert_uint_eq(hpcb_lend_reserve(&part, 100 * GIB), 100 * GIB / 100 * 5);
    ck_assert_uint_eq(hpcb_lend_reserve(&part, GIB), 512 * MIB);
    ck_assert_uint_eq(hpcb_lend_reserve(&size, GIB), 3 * GIB);
    ck_assert_uint_eq(hpcb_lend_reserve(&none, GIB), 0);
}
END_TEST

START_TEST(what_is_no_jobs_counts)
{
    hpcb_lend_node_t node = {
        .real_memory = 100 * GIB, .available = 95 * GIB, .used = 9 * GIB};

    ck_assert_uint_eq(hpcb_lend_usable(&node), 100 * GIB);
    node.available = 60 * GIB;
    ck_assert_uint_eq(hpcb_lend_usable(&node), 69 * GIB);
}
END_TEST

/* Small numbers, sizes of nodes, and the largest there are. */
static uint64_t any(void)
{
    uint64_t bits = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();

    return bits >> (rand() % 64);
}

static hpcb_lend_job_t any_job(void)
{
    return (hpcb_lend_job_t){
        .promised = any(),
        .reported = rand() % 4 != 0,
        .used = any(),
        .growth = rand() % 2 ? any() : 0,
        .peak = any(),
        .age = (uint64_t)rand() % 200,
        .profile = rand() % 2 ? any() : 0,
    };
}

START_TEST(expected_use_has_bounds_and_is_monotonic)
{
    srand(19);
    for (int i = 0; i < ROUNDS; i++) {
        hpcb_lend_job_t job = any_job(), more = job;
        uint64_t expected = hpcb_lend_expected(&job, SETTLE), most = job.promised;

        if (job.reported && job.used > most)
            most = job.used;
        ck_assert_uint_le(expected, most);
        ck_assert(!job.reported || expected >= job.used);
        ck_assert(job.reported || expected == job.promised);
        switch (rand() % 4) {
        case 0:
            more.used += (UINT64_MAX - more.used) / 3;
            break;
        case 1:
            more.growth += (UINT64_MAX - more.growth) / 3;
            break;
        case 2:
            more.peak += (UINT64_MAX - more.peak) / 3;
            break;
        default:
            more.promised += (UINT64_MAX - more.promised) / 3;
            break;
        }
        ck_assert_uint_ge(hpcb_lend_expected(&more, SETTLE), expected);
        more = job;
        more.reported = false;
        ck_assert(job.used > job.promised ||
                  hpcb_lend_expected(&more, SETTLE) >= expected);
    }
}
END_TEST

START_TEST(what_is_lent_is_never_used_twice)
{
    srand(20);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t usable = any(), reserve = any(), expected = any(), guests = any();
        uint64_t lent = hpcb_lend_free(usable, reserve, expected, guests);

        ck_assert_uint_le(lent, usable);
        if (lent == 0)
            continue;
        ck_assert_uint_eq(usable - lent - reserve - expected, guests);
        ck_assert_uint_eq(hpcb_lend_free(usable, reserve, expected, guests + lent), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lend");
    TCase *tcase = tcase_create("lend");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, a_job_that_settled_is_expected_to_stay);
    tcase_add_test(tcase, growth_and_peaks_count);
    tcase_add_test(tcase, a_profile_counts_before_the_job_has_settled);
    tcase_add_test(tcase, without_a_report_all_is_used);
    tcase_add_test(tcase, a_job_beyond_its_promise_has_what_it_has);
    tcase_add_test(tcase, the_reserve_is_a_part_or_a_size);
    tcase_add_test(tcase, what_is_no_jobs_counts);
    tcase_add_test(tcase, expected_use_has_bounds_and_is_monotonic);
    tcase_add_test(tcase, what_is_lent_is_never_used_twice);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
