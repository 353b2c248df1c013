/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include "policy/harm.h"

#define S INT64_C(1000000000)

static const hpcb_harm_plan_t plan = {.period_ns = 50 * S,
                                      .off_ns = S,
                                      .settle_ns = S / 4,
                                      .compare_ns = 6 * S,
                                      .gap_ns = 10 * S};

static const hpcb_harm_seed_t seed = {{{4711, 12}}};

static hpcb_harm_stop_t stop_of(int64_t period)
{
    return hpcb_harm_stop(&plan, &seed, period * plan.period_ns);
}

START_TEST(experiments_lie_within_their_period)
{
    for (int64_t period = 0; period < 2000; period++) {
        int64_t begin = period * plan.period_ns, end = begin + plan.period_ns;
        hpcb_harm_stop_t stop = stop_of(period);
        hpcb_harm_stop_t late = hpcb_harm_stop(&plan, &seed, end - 1);

        ck_assert_int_eq(stop.from_ns, late.from_ns);
        ck_assert_int_eq(stop.again_ns, late.again_ns);
        ck_assert_uint_eq(stop.number, (uint64_t)period);
        ck_assert_int_ge(stop.before_ns, begin);
        ck_assert_int_eq(stop.from_ns, stop.before_ns + plan.compare_ns);
        ck_assert_int_eq(stop.settled_ns, stop.from_ns + plan.settle_ns);
        ck_assert_int_eq(stop.to_ns, stop.from_ns + plan.off_ns);
        ck_assert_int_ge(stop.again_ns, stop.to_ns);
        ck_assert_int_le(stop.again_ns, stop.to_ns + plan.gap_ns);
        ck_assert_int_eq(stop.after_ns, stop.again_ns + plan.compare_ns);
        ck_assert_int_le(stop.after_ns, end);
    }
}
END_TEST

/* In each tenth of the period about as many: four standard deviations are 120. */
START_TEST(stops_are_spread_over_the_period)
{
    unsigned tenth[10] = {0};

    for (int64_t period = 0; period < 10000; period++) {
        int64_t before = stop_of(period).before_ns - period * plan.period_ns;
        int64_t room = plan.period_ns - plan.off_ns - 2 * plan.compare_ns + 1;

        tenth[before * 10 / room]++;
    }
    for (int i = 0; i < 10; i++) {
        ck_assert_uint_gt(tenth[i], 880);
        ck_assert_uint_lt(tenth[i], 1120);
    }
}
END_TEST

/* A part of the time of comparison after the stop that a guest sleeps through which
 * does so for `asleep` after each stop. */
static double hidden(int64_t asleep)
{
    double sum = 0;

    for (int64_t period = 0; period < 10000; period++) {
        hpcb_harm_stop_t stop = stop_of(period);
        int64_t left = stop.to_ns + asleep - stop.again_ns;
        double at = (double)(stop.from_ns + stop.to_ns) / 2;
        double weight =
            hpcb_harm_between(0, (double)(stop.before_ns + stop.from_ns) / 2, 1,
                              (double)(stop.again_ns + stop.after_ns) / 2, at);

        if (left > 0)
            sum += weight * fmin(1, (double)left / (double)plan.compare_ns);
    }
    return sum / 10000;
}

/* What it gives away by that is more than what it hides. */
START_TEST(who_sleeps_after_a_stop_hides_little)
{
    for (int64_t asleep = 2 * S; asleep <= 24 * S; asleep += 2 * S)
        ck_assert_double_lt(hidden(asleep),
                            1.5 * (double)asleep / (double)plan.period_ns);
}
END_TEST

/* Somebody who knows all but the secret, and what he has seen, knows nothing. */
START_TEST(another_secret_has_other_stops)
{
    hpcb_harm_seed_t one = hpcb_harm_seed("0123456789abcdef", 16);
    hpcb_harm_seed_t same = hpcb_harm_seed("0123456789abcdef", 16);
    hpcb_harm_seed_t two = hpcb_harm_seed("0123456789abcdeg", 16);
    hpcb_harm_seed_t none = hpcb_harm_seed(NULL, 0);
    unsigned equal = 0;

    for (int64_t period = 0; period < 1000; period++) {
        int64_t at = period * plan.period_ns;
        hpcb_harm_stop_t stop = hpcb_harm_stop(&plan, &one, at);

        ck_assert_int_eq(stop.from_ns, hpcb_harm_stop(&plan, &same, at).from_ns);
        equal += stop.from_ns / S == hpcb_harm_stop(&plan, &two, at).from_ns / S;
        equal += stop.from_ns / S == hpcb_harm_stop(&plan, &none, at).from_ns / S;
    }
    ck_assert_uint_lt(equal, 120);
}
END_TEST

START_TEST(plans)
{
    ck_assert(hpcb_harm_plan_good(&plan));
    ck_assert(hpcb_harm_plan_good(&(hpcb_harm_plan_t){5, 1, 0, 2, 0}));
    ck_assert(hpcb_harm_plan_good(&(hpcb_harm_plan_t){5, 1, 0, 2, INT64_MAX}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){5, 1, 0, 2, -1}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){4, 1, 0, 2, 0}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){60, 0, 0, 1, 0}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){60, 1, 0, 0, 0}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){60, 1, 0, INT64_MAX, 0}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){-60, -1, 0, -1, 0}));
    ck_assert(hpcb_harm_plan_good(&(hpcb_harm_plan_t){6, 2, 1, 2, 0}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){6, 2, 2, 2, 0}));
    ck_assert(!hpcb_harm_plan_good(&(hpcb_harm_plan_t){6, 2, -1, 2, 0}));
    /* No room: always the middle. */
    ck_assert_int_eq(
        hpcb_harm_stop(&(hpcb_harm_plan_t){5, 1, 0, 2, 9}, &seed, 7).from_ns, 7);
}
END_TEST

/* 100 at 10, 2 less in each unit of time. */
START_TEST(a_trend_is_a_straight_line)
{
    ck_assert_double_eq_tol(hpcb_harm_between(100, 10, 80, 20, 11), 98, 1e-9);
    ck_assert_double_eq_tol(hpcb_harm_between(100, 10, 96, 12, 11), 98, 1e-9);
}
END_TEST

static hpcb_harm_estimate_t part(double cost, double half)
{
    return (hpcb_harm_estimate_t){cost, cost - half, cost + half, 64};
}

/* Five minutes of 10 %, ten hours without guests: what the whole run lost. */
START_TEST(a_life_is_weighted_by_time)
{
    hpcb_harm_life_t life = {0};
    hpcb_harm_estimate_t found = {.cost = 42}, first = part(0.1, 0.02),
                         second = part(0.02, 0.02);

    ck_assert(!hpcb_harm_of_life(&life, 0, 100, &found));
    ck_assert_double_eq(found.cost, 42);
    hpcb_harm_live(&life, &first, 300);
    ck_assert(!hpcb_harm_of_life(&life, 300, 0, &found));
    ck_assert(hpcb_harm_of_life(&life, 300, 36300, &found));
    ck_assert_double_eq_tol(found.cost, 0.1 * 300 / 36300, 1e-9);
    ck_assert_double_eq_tol(found.high - found.low, 0.04 * 300 / 36300, 1e-9);
    /* Of a minute more with guests nothing is known. */
    ck_assert(hpcb_harm_of_life(&life, 360, 36300, &found));
    ck_assert_double_eq_tol(found.cost, 0.1 * 360 / 36300, 1e-9);
    hpcb_harm_live(&life, &second, 900);
    ck_assert(hpcb_harm_of_life(&life, 1200, 1200, &found));
    ck_assert_double_eq_tol(found.cost, (0.1 * 300 + 0.02 * 900) / 1200, 1e-9);
    ck_assert_double_eq_tol(found.high - found.low, 0.04 * sqrt(10.0) * 300 / 1200,
                            1e-9);
    ck_assert_uint_eq(found.comparisons, 128);
    /* No longer than the whole, whatever clocks say. */
    ck_assert(hpcb_harm_of_life(&life, 1300, 1200, &found));
    ck_assert_double_eq_tol(found.cost, (0.1 * 300 + 0.02 * 900) / 1200, 1e-9);
}
END_TEST

/* Evenly in 0..1. */
static double some(unsigned *state)
{
    return (rand_r(state) + 0.5) / ((double)RAND_MAX + 1.0);
}

/* Normally distributed. */
static double scatter(unsigned *state, double deviation)
{
    return deviation * sqrt(-2.0 * log(some(state))) * cos(6.283185307 * some(state));
}

/* A primary that is `harm` slower with guests, whose rate scatters by 3 % and changes
 * altogether in a tenth of the comparisons. */
static void compare_often(hpcb_harm_t *out, double harm, int comparisons,
                          unsigned state)
{
    *out = (hpcb_harm_t){.count = 0};
    for (int i = 0; i < comparisons; i++) {
        double with = 100.0 + scatter(&state, 3.0);
        double without = 100.0 * (1.0 + harm) + scatter(&state, 3.0);

        if (some(&state) < 0.1)
            without *= some(&state) < 0.5 ? 1.5 : 1 / 1.5;
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

    for (unsigned run = 1; run <= 400; run++) {
        compare_often(&harm, truth, comparisons[_i / 6], run);
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

/* Hundreds of lives: scripts/valgrind leaves out what has this tag. */
static TCase *lives(void)
{
    TCase *tcase = tcase_create("lives");

    tcase_set_tags(tcase, "long");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, interval_covers_the_truth, 0, 18);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("harm");
    TCase *tcase = tcase_create("harm");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, experiments_lie_within_their_period);
    tcase_add_test(tcase, stops_are_spread_over_the_period);
    tcase_add_test(tcase, who_sleeps_after_a_stop_hides_little);
    tcase_add_test(tcase, another_secret_has_other_stops);
    tcase_add_test(tcase, plans);
    tcase_add_test(tcase, a_trend_is_a_straight_line);
    tcase_add_test(tcase, a_life_is_weighted_by_time);
    tcase_add_test(tcase, interval_becomes_narrow);
    tcase_add_test(tcase, too_few_say_nothing);
    tcase_add_test(tcase, useless_comparisons_are_ignored);
    tcase_add_test(tcase, old_comparisons_make_room);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, lives());
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
