/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The bound by typical stops (policy/typical.h), next to disturbances that are rare and
 * long: it is seldom above the truth, and closer to it than the mean's.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include "policy/harm.h"
#include "policy/student.h"
#include "policy/typical.h"
#include "tests/policy/random.h"

#define RUNS  1000
#define STOPS 12
#define LACKS 0.010 /* each time on average */

static uint64_t state;

/* The logarithm of a rate in a time of 0.2 s: a fifth of them lacks 2 to 6 % of it, and
 * all lack some tenths. */
static double rate(double lacks)
{
    lacks += 0.004 * random_part(&state);
    if (random_part(&state) < 0.2)
        lacks += 0.02 + 0.04 * random_part(&state);
    return log1p(-lacks);
}

/* even: part of its CPU that a primary lacks in all times with guests; bursts: part of
 * these times in which guests take 3 % more. */
static void add_stop(hpcb_typical_t *typical, hpcb_harm_t *harm, double even,
                     double bursts)
{
    double part[HPCB_TYPICAL_PARTS], sum = 0, without = exp(rate(0)), with;

    for (int i = 0; i < HPCB_TYPICAL_PARTS; i++) {
        part[i] = exp(rate(even + (random_part(&state) < bursts ? 0.03 : 0)));
        sum += part[i];
    }
    with = sum / HPCB_TYPICAL_PARTS;
    for (int i = 0; i < HPCB_TYPICAL_PARTS; i++)
        part[i] = log(part[i] / with);
    hpcb_typical_add(typical, log(without / with), part);
    ck_assert(hpcb_harm_add(harm, with, without));
}

typedef struct {
    unsigned above;  /* bounds above the truth */
    double bound;    /* mean */
    double mean_low; /* the same of the interval of the mean */
} seen_t;

static seen_t see(double even, double bursts)
{
    double lacks = even + 0.03 * bursts, truth = lacks / (1 - LACKS - lacks);
    seen_t seen = {0};

    for (state = 1; state < (uint64_t)RUNS * 1000003; state += 1000003) {
        hpcb_typical_t typical = {.count = 0};
        static hpcb_harm_t harm;
        hpcb_harm_estimate_t estimate = {0};
        uint64_t begin = state;
        double least = 0;

        harm.count = 0;
        for (int i = 0; i < STOPS; i++)
            add_stop(&typical, &harm, even, bursts);
        ck_assert(hpcb_typical_least(&typical, &least));
        ck_assert(hpcb_harm_estimate(&harm, &estimate));
        seen.above += least > truth;
        seen.bound += least / RUNS;
        seen.mean_low += estimate.low / RUNS;
        state = begin;
    }
    return seen;
}

/* One in forty is what chance leaves. */
START_TEST(the_bound_is_seldom_above_the_truth)
{
    static const double evenly[] = {0, 0.005, 0.02, 0.1};

    ck_assert_uint_le(see(evenly[_i], 0).above, RUNS / 25);
}
END_TEST

START_TEST(it_is_closer_than_that_of_the_mean)
{
    seen_t seen = see(0.02, 0);

    ck_assert_double_gt(seen.bound, 0.012);
    ck_assert_double_lt(seen.mean_low, 0.011);
}
END_TEST

/* Guests take 3 % of a tenth of the times. */
START_TEST(harm_in_rare_pieces_is_not_in_it)
{
    seen_t seen = see(0, 0.1);

    ck_assert_uint_le(seen.above, RUNS / 100);
    ck_assert_double_lt(seen.bound, 0.002);
}
END_TEST

START_TEST(too_few_stops_or_too_many_give_no_bound)
{
    static const double part[HPCB_TYPICAL_PARTS];
    hpcb_typical_t typical = {.count = 0};
    double least = 7;

    for (int i = 1; i < HPCB_HARM_COMPARISONS_MIN; i++)
        hpcb_typical_add(&typical, 0.02, part);
    ck_assert(!hpcb_typical_least(&typical, &least));
    ck_assert_double_eq(least, 7);
    while (typical.count < HPCB_TYPICAL_STOPS) {
        hpcb_typical_add(&typical, 0.02, part);
        ck_assert(hpcb_typical_least(&typical, &least));
        ck_assert_double_eq_tol(least, expm1(0.02), 1e-12);
    }
    hpcb_typical_add(&typical, 0.02, part);
    ck_assert(!hpcb_typical_least(&typical, &least));
    hpcb_typical_add(&typical, 0.02, part);
    ck_assert(!hpcb_typical_least(&typical, &least));
}
END_TEST

/* By hand: a third of ten is three at each end; 0.4 to 0.7 have the mean 0.55, and
 * winsorized the sum of squares is 2 * (4 * 0.15^2 + 0.05^2). */
START_TEST(a_trimmed_mean)
{
    static const double part[HPCB_TYPICAL_PARTS];
    static const double costs[] = {0.3, 9, 0.4, 0.5, -9, 0.6, 0.7, 0.8, 100, -100};
    hpcb_typical_t typical = {.count = 0};
    double least = 0;

    for (int i = 0; i < 10; i++)
        hpcb_typical_add(&typical, costs[i], part);
    ck_assert(hpcb_typical_least(&typical, &least));
    ck_assert_double_eq_tol(log1p(least),
                            0.55 - hpcb_student_t(3) * sqrt(0.185 / (4 * 3)), 1e-9);
}
END_TEST

START_TEST(quantiles)
{
    ck_assert_double_eq_tol(hpcb_student_t(3), 3.182, 0.03);
    ck_assert_double_eq_tol(hpcb_student_t(5), 2.571, 0.01);
    ck_assert_double_eq_tol(hpcb_student_t(11), 2.201, 0.002);
    ck_assert_double_eq_tol(hpcb_student_t(1e6), 1.960, 0.001);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("typical");
    TCase *tcase = tcase_create("typical");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, the_bound_is_seldom_above_the_truth, 0, 4);
    tcase_add_test(tcase, it_is_closer_than_that_of_the_mean);
    tcase_add_test(tcase, harm_in_rare_pieces_is_not_in_it);
    tcase_add_test(tcase, too_few_stops_or_too_many_give_no_bound);
    tcase_add_test(tcase, a_trimmed_mean);
    tcase_add_test(tcase, quantiles);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
