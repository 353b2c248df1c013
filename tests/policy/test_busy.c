/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>

#include <check.h>

#include "policy/busy.h"

#define SECOND UINT64_C(1000000)

static hpcb_busy_t busy;
static uint64_t usage, now;

static void begin(void)
{
    busy = (hpcb_busy_t){0};
    usage = 5 * SECOND;
    now = 7 * SECOND;
    hpcb_busy_add(&busy, usage, now);
}

/* So many thousandths of a CPU for so many seconds. */
static void compute(uint64_t thousandths, unsigned seconds)
{
    for (unsigned i = 0; i < seconds; i++) {
        usage += thousandths * 1000;
        now += SECOND;
        hpcb_busy_add(&busy, usage, now);
    }
}

static uint64_t cpus(void)
{
    uint64_t found = 0;

    ck_assert(hpcb_busy_cpus(&busy, &found));
    return found;
}

START_TEST(a_young_job_is_unknown)
{
    uint64_t found;

    begin();
    ck_assert(!hpcb_busy_cpus(&busy, &found));
    compute(500, 29);
    ck_assert(!hpcb_busy_cpus(&busy, &found));
    compute(500, 1);
    ck_assert_uint_eq(cpus(), 500000);
}
END_TEST

START_TEST(phases_are_averaged)
{
    begin();
    for (int i = 0; i < 30; i++) {
        compute(4000, 5);
        compute(0, 5);
    }
    ck_assert_uint_gt(cpus(), 1800000);
    ck_assert_uint_lt(cpus(), 2200000);
}
END_TEST

START_TEST(what_was_long_ago_is_forgotten)
{
    begin();
    compute(8000, 3600);
    ck_assert_uint_eq(cpus(), 8000000);
    compute(1000, 60);
    ck_assert_uint_gt(cpus(), 2000000);
    ck_assert_uint_lt(cpus(), 4500000);
    compute(1000, 600);
    ck_assert_uint_lt(cpus(), 1010000);
}
END_TEST

START_TEST(samples_may_be_seldom)
{
    begin();
    for (int i = 0; i < 20; i++) {
        usage += 60 * SECOND;
        now += 120 * SECOND;
        hpcb_busy_add(&busy, usage, now);
    }
    ck_assert_uint_eq(cpus(), 500000);
    hpcb_busy_add(&busy, usage + SECOND, now);
    ck_assert_uint_eq(cpus(), 500000);
}
END_TEST

START_TEST(another_group_begins_anew)
{
    uint64_t found;

    begin();
    compute(3000, 100);
    usage = 0;
    compute(1000, 1);
    ck_assert(!hpcb_busy_cpus(&busy, &found));
    compute(1000, 40);
    ck_assert_uint_eq(cpus(), 1000000);
    now -= 20 * SECOND;
    compute(1000, 1);
    ck_assert(!hpcb_busy_cpus(&busy, &found));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("busy");
    TCase *tc = tcase_create("busy");
    SRunner *runner;
    int failed;

    tcase_add_test(tc, a_young_job_is_unknown);
    tcase_add_test(tc, phases_are_averaged);
    tcase_add_test(tc, what_was_long_ago_is_forgotten);
    tcase_add_test(tc, samples_may_be_seldom);
    tcase_add_test(tc, another_group_begins_anew);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
