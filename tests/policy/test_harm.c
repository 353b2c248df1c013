/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include "policy/harm.h"

#define S INT64_C(1000000000)

static const hpcb_harm_plan_t plan = {
    .period_ns = 60 * S, .off_ns = S, .compare_ns = 4 * S};

START_TEST(stops_lie_within_their_period)
{
    for (int64_t period = 0; period < 2000; period++) {
        int64_t begin = period * plan.period_ns;
        hpcb_harm_stop_t stop = hpcb_harm_stop(&plan, 4711, begin);
        hpcb_harm_stop_t late = hpcb_harm_stop(&plan, 4711, begin + plan.period_ns - 1);

        ck_assert_int_eq(stop.from_ns, late.from_ns);
        ck_assert_int_eq(stop.to_ns, stop.from_ns + plan.off_ns);
        ck_assert_int_ge(stop.from_ns - plan.compare_ns, begin);
        ck_assert_int_le(stop.to_ns + plan.compare_ns, begin + plan.period_ns);
    }
}
END_TEST

/* In each tenth of the period about as many: four standard deviations are 120. */
START_TEST(stops_are_spread_over_the_period)
{
    unsigned tenth[10] = {0};

    for (int64_t period = 0; period < 10000; period++) {
        int64_t begin = period * plan.period_ns;
        int64_t from = hpcb_harm_stop(&plan, 12, begin).from_ns;
        int64_t room = plan.period_ns - plan.off_ns - 2 * plan.compare_ns + 1;

        tenth[(from - begin - plan.compare_ns) * 10 / room]++;
    }
    for (int i = 0; i < 10; i++) {
        ck_assert_uint_gt(tenth[i], 880);
        ck_assert_uint_lt(tenth[i], 1120);
    }
}
END_TEST

START_TEST(jobs_stop_at_other_times)
{
    unsigned same = 0;

    for (uint32_t job = 1; job < 1000; job++)
        same += hpcb_harm_stop(&plan, job, 0).from_ns / S ==
                hpcb_harm_stop(&plan, job + 1, 0).from_ns / S;
    ck_assert_uint_lt(same, 60);
}
END_TEST

START_TEST(plans)
{
    ck_assert(hpcb_harm_plan_good(&plan));
    ck_assert(hpcb_harm_plan_good(&(hpcb_harm_plan_t){5, 1, 2}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){4, 1, 2}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){60, 0, 1}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){60, 1, 0}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){60, 1, INT64_MAX}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){-60, -1, -1}));
    /* No room: always the middle. */
    ck_assert_int_eq(hpcb_harm_stop(&(hpcb_harm_plan_t){5, 1, 2}, 9, 7).from_ns, 7);
}
END_TEST

/* Evenly in 0..1. */
static double some(unsigned *seed)
{
    return (rand_r(seed) + 0.5) / ((double)RAND_MAX + 1.0);
}

/* Normally distributed. */
static double scatter(unsigned *seed, double deviation)
{
    return deviation * sqrt(-2.0 * log(some(seed))) * cos(6.283185307 * some(seed));
}

/* A primary that is `harm` slower with guests, whose rate scatters by 3 % and changes
 * altogether in a tenth of the comparisons. */
static void compare_often(hpcb_harm_t *out, double harm, int comparisons, unsigned seed)
{
    *out = (hpcb_harm_t){.count = 0};
    for (int i = 0; i < comparisons; i++) {
        double with = 100.0 + scatter(&seed, 3.0);
        double without = 100.0 * (1.0 + harm) + scatter(&seed, 3.0);

        if (some(&seed) < 0.1)
            without *= some(&seed) < 0.5 ? 1.5 : 1 / 1.5;
        ck_assert(hpcb_harm_add(out, with, without));
    }
}

static const double harms[] = {0.0, 0.005, 0.01, 0.02, 0.05, 0.1};
static const int comparisons[] = {10, 60, 500};

START_TEST(interval_covers_the_truth)
{
    static hpcb_harm_t harm;
    hpcb_harm_estimate_t estimate = {0};
    double truth = harms[_i % 6];
    int covered = 0;

    for (unsigned seed = 1; seed <= 400; seed++) {
        compare_often(&harm, truth, comparisons[_i / 6], seed);
        ck_assert(hpcb_harm_estimate(&harm, &estimate));
        ck_assert(estimate.low <= estimate.cost && estimate.cost <= estimate.high);
        covered += estimate.low <= truth && truth <= estimate.high;
    }
    ck_assert_int_ge(covered, 360);
}
END_TEST

START_TEST(interval_becomes_narrow)
{
    static hpcb_harm_t harm;
    hpcb_harm_estimate_t few = {0}, many = {0};

    compare_often(&harm, 0.02, 10, 5);
    ck_assert(hpcb_harm_estimate(&harm, &few));
    compare_often(&harm, 0.02, 360, 5);
    ck_assert(hpcb_harm_estimate(&harm, &many));
    ck_assert_double_lt(many.high - many.low, 0.015);
    ck_assert_double_gt(few.high - few.low, 3 * (many.high - many.low));
}
END_TEST

START_TEST(too_few_say_nothing)
{
    static hpcb_harm_t harm;
    hpcb_harm_estimate_t estimate = {.cost = 42.0};

    for (int i = 1; i < HPCB_HARM_COMPARISONS_MIN; i++) {
        hpcb_harm_add(&harm, 1.0, 1.0);
        ck_assert(!hpcb_harm_estimate(&harm, &estimate));
    }
    ck_assert_double_eq(estimate.cost, 42.0);
    hpcb_harm_add(&harm, 1.0, 1.0);
    ck_assert(hpcb_harm_estimate(&harm, &estimate));
    ck_assert_double_eq(estimate.cost, 0.0);
    ck_assert_uint_eq(estimate.comparisons, HPCB_HARM_COMPARISONS_MIN);
}
END_TEST

START_TEST(useless_comparisons_are_ignored)
{
    static hpcb_harm_t harm;
    static const double bad[][2] = {
        {0, 1},   {1, 0},        {-1, 1},  {1, -1},       {0, 0},         {NAN, 1},
        {1, NAN}, {INFINITY, 1}, {-1, -1}, {1, INFINITY}, {1e-300, 1e300}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert(!hpcb_harm_add(&harm, bad[i][0], bad[i][1]));
    ck_assert_uint_eq(harm.count, 0);
}
END_TEST

START_TEST(old_comparisons_make_room)
{
    static hpcb_harm_t harm;
    hpcb_harm_estimate_t estimate = {0};

    for (int i = 0; i < HPCB_HARM_COMPARISONS; i++)
        hpcb_harm_add(&harm, 1.0, 2.0);
    for (int i = 0; i < HPCB_HARM_COMPARISONS; i++)
        hpcb_harm_add(&harm, 1.0, 1.0);
    ck_assert(hpcb_harm_estimate(&harm, &estimate));
    ck_assert_double_eq(estimate.high, 0.0);
    ck_assert_uint_eq(estimate.comparisons, HPCB_HARM_COMPARISONS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harm");
    TCase *tcase = tcase_create("harm");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, stops_lie_within_their_period);
    tcase_add_test(tcase, stops_are_spread_over_the_period);
    tcase_add_test(tcase, jobs_stop_at_other_times);
    tcase_add_test(tcase, plans);
    tcase_add_loop_test(tcase, interval_covers_the_truth, 0, 18);
    tcase_add_test(tcase, interval_becomes_narrow);
    tcase_add_test(tcase, too_few_say_nothing);
    tcase_add_test(tcase, useless_comparisons_are_ignored);
    tcase_add_test(tcase, old_comparisons_make_room);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
