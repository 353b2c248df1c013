/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdlib.h>
#include "policy/rate.h"

#define QUANTUM HPCB_RATE_QUANTUM_US

static hpcb_rate_t rate;

static void start(unsigned window, unsigned bits)
{
    hpcb_rate_init(&rate, window, QUANTUM, bits);
}

/* Bytes a second that the counter of `start` runs at for n quanta; returns its end. */
static uint64_t run(uint64_t *time, uint64_t value, double per_second, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        *time += QUANTUM;
        value += (uint64_t)(per_second * QUANTUM / 1e6);
        hpcb_rate_add(&rate, *time, value);
    }
    return value;
}

static void expect_quantile(unsigned percent, double expected)
{
    double found = -1;

    ck_assert_int_eq(hpcb_rate_quantile(&rate, percent, &found), 0);
    ck_assert_double_ge(found, expected * 0.992);
    ck_assert_double_le(found, expected * 1.008);
}

START_TEST(a_steady_rate_is_its_own_quantile)
{
    static const double rates[] = {2,    1000, 1e6,    1.5e6,  3.7e7, 1e8,
                                   12e8, 9e9,  1.5e11, 2.2e12, 1e13};
    uint64_t time = 7;
    double mean;

    start(HPCB_RATE_WINDOW, 64);
    hpcb_rate_add(&rate, time, 123);
    run(&time, 123, rates[_i], 40);
    expect_quantile(95, rates[_i]);
    expect_quantile(1, rates[_i]);
    ck_assert_int_eq(hpcb_rate_mean(&rate, &mean), 0);
    ck_assert_double_eq_tol(mean, rates[_i], rates[_i] * 1e-6);
}
END_TEST

START_TEST(a_burst_does_not_decide_and_a_phase_does)
{
    uint64_t time = 0, value = 0;

    start(2, 64);
    hpcb_rate_add(&rate, 0, 0);
    value = run(&time, value, 1e6, 96);
    value = run(&time, value, 1e9, 1);
    run(&time, value, 1e6, 3);
    expect_quantile(95, 1e6);
    start(2, 64);
    time = value = 0;
    hpcb_rate_add(&rate, 0, 0);
    value = run(&time, value, 1e6, 90);
    run(&time, value, 1e9, 10);
    expect_quantile(95, 1e9);
    expect_quantile(50, 1e6);
}
END_TEST

START_TEST(the_window_smooths)
{
    uint64_t time = 0, value = 0;

    /* Every other quantum: w = 1 sees the peak, w = 2 the mean of both. */
    start(1, 64);
    hpcb_rate_add(&rate, 0, 0);
    for (int i = 0; i < 20; i++) {
        value = run(&time, value, 2e8, 1);
        value = run(&time, value, 0, 1);
    }
    expect_quantile(95, 2e8);
    start(2, 64);
    time = value = 0;
    hpcb_rate_add(&rate, 0, 0);
    for (int i = 0; i < 20; i++) {
        value = run(&time, value, 2e8, 1);
        value = run(&time, value, 0, 1);
    }
    expect_quantile(95, 1e8);
}
END_TEST

START_TEST(missed_samples_lose_no_bytes_and_no_time)
{
    uint64_t time = 0, value = 0;
    double mean;

    start(1, 64);
    hpcb_rate_add(&rate, 0, 0);
    value = run(&time, value, 1e6, 50);
    /* 50 quanta of 1e8 in one sample. */
    time += 50 * (uint64_t)QUANTUM;
    value += (uint64_t)(1e8 * 25);
    hpcb_rate_add(&rate, time, value);
    ck_assert_uint_eq(hpcb_rate_total(&rate), value);
    expect_quantile(95, 1e8);
    expect_quantile(50, 1e6);
    ck_assert_int_eq(hpcb_rate_mean(&rate, &mean), 0);
    ck_assert_double_eq_tol(mean, 50.5e6, 1);
}
END_TEST

START_TEST(a_narrow_counter_wraps)
{
    const uint64_t mask = (UINT64_C(1) << _i) - 1;
    const uint64_t step = UINT64_C(1) << (_i - 2);
    uint64_t value = mask - 5;

    start(2, (unsigned)_i);
    for (uint64_t i = 0; i < 41; i++)
        hpcb_rate_add(&rate, i * QUANTUM, (value + i * step) & mask);
    ck_assert_uint_eq(hpcb_rate_total(&rate), 40 * step);
    expect_quantile(95, (double)step * 2);
}
END_TEST

START_TEST(a_counter_that_began_anew_is_no_burst)
{
    uint64_t time = 0, value = 0;

    start(2, 64);
    hpcb_rate_add(&rate, 0, 0);
    value = run(&time, value, 1e6, 20);
    ck_assert_uint_eq(value, hpcb_rate_total(&rate));
    value = 40; /* the daemon was started again */
    hpcb_rate_add(&rate, time += QUANTUM, value);
    run(&time, value, 1e6, 20);
    ck_assert_uint_eq(hpcb_rate_total(&rate), 20000000);
    expect_quantile(100, 1e6);
}
END_TEST

START_TEST(a_break_is_not_covered)
{
    uint64_t time = 0, value = 0;
    double mean;

    start(2, 64);
    hpcb_rate_add(&rate, 0, 0);
    value = run(&time, value, 1e6, 20);
    hpcb_rate_break(&rate);
    time += 1000 * (uint64_t)QUANTUM;
    hpcb_rate_add(&rate, time, value);
    run(&time, value, 1e6, 20);
    ck_assert_int_eq(hpcb_rate_mean(&rate, &mean), 0);
    ck_assert_double_eq_tol(mean, 1e6, 1);
    expect_quantile(1, 1e6);
}
END_TEST

START_TEST(a_short_job_has_its_mean)
{
    double value = -1;

    start(2, 64);
    ck_assert_int_eq(hpcb_rate_quantile(&rate, 95, &value), -1);
    hpcb_rate_add(&rate, 10, 100);
    ck_assert_int_eq(hpcb_rate_quantile(&rate, 95, &value), -1);
    ck_assert_int_eq(hpcb_rate_mean(&rate, &value), -1);
    ck_assert_double_eq(value, -1);
    hpcb_rate_add(&rate, 10 + QUANTUM, 600);
    ck_assert_int_eq(hpcb_rate_quantile(&rate, 95, &value), 0);
    ck_assert_double_eq_tol(value, 1000, 1e-6);
    /* The same time again, or an earlier one, is no sample. */
    hpcb_rate_add(&rate, 10 + QUANTUM, 900);
    hpcb_rate_add(&rate, 3, 900);
    ck_assert_uint_eq(hpcb_rate_total(&rate), 500);
}
END_TEST

START_TEST(nothing_moved_is_zero)
{
    uint64_t time = 0;
    double value = -1;

    start(2, 64);
    hpcb_rate_add(&rate, 0, 5);
    run(&time, 5, 0, 10);
    ck_assert_int_eq(hpcb_rate_quantile(&rate, 95, &value), 0);
    ck_assert_double_eq(value, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rate");
    TCase *tcase = tcase_create("rate");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, a_steady_rate_is_its_own_quantile, 0, 11);
    tcase_add_test(tcase, a_burst_does_not_decide_and_a_phase_does);
    tcase_add_test(tcase, the_window_smooths);
    tcase_add_test(tcase, missed_samples_lose_no_bytes_and_no_time);
    tcase_add_loop_test(tcase, a_narrow_counter_wraps, 24, 64);
    tcase_add_test(tcase, a_counter_that_began_anew_is_no_burst);
    tcase_add_test(tcase, a_break_is_not_covered);
    tcase_add_test(tcase, a_short_job_has_its_mean);
    tcase_add_test(tcase, nothing_moved_is_zero);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
