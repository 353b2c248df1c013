/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What guests cost a primary in its whole time here (hpcbd/harm/life.c). */
#include "config.h"

#include <check.h>
#include <stdlib.h>

#include "hpcbd/harm/life.h"

#define SECOND INT64_C(1000000000)

static hpcbd_life_t life;
static hpcb_guest_cost_t before, cost;
static int64_t now_ns;

static void begin(void)
{
    life = (hpcbd_life_t){.with_s = 0};
    before = hpcb_guest_cost_unknown;
    now_ns = 1000 * SECOND;
    hpcbd_life_pass(&life, false, now_ns);
}

static void pass(hpcb_progress_at_t *at, uint64_t us, double taken)
{
    at->time_us += us;
    at->cpu_us += (uint64_t)((double)us * (1 - taken));
    at->delay_us += (uint64_t)((double)us * taken);
}

/* An experiment in each ten seconds next to guests that take a part of its time. */
static void run(int64_t seconds, double taken)
{
    for (int64_t passed = 0; passed < seconds; passed += 10) {
        hpcb_progress_at_t at[HPCB_PROGRESS_READINGS] = {
            {.time_us = 1, .has_delay = true}};

        for (int i = 1; i < HPCB_PROGRESS_READINGS; i++) {
            at[i] = at[i - 1];
            pass(&at[i], 200000, i == HPCB_PROGRESS_GO ? 0 : taken);
        }
        now_ns += 10 * SECOND;
        hpcbd_life_pass(&life, true, now_ns);
        hpcbd_life_compare(&life, at);
    }
}

static void rest(int64_t seconds)
{
    now_ns += seconds * SECOND;
    hpcbd_life_pass(&life, false, now_ns);
}

static void expect(double seconds, double expected)
{
    ck_assert(hpcbd_life_cost(&life, &before, seconds, &cost));
    ck_assert_int_ge(cost.cost, (int64_t)(expected * 1e6) - 60);
    ck_assert_int_le(cost.cost, (int64_t)(expected * 1e6) + 60);
    ck_assert_int_le(cost.low, cost.cost);
    ck_assert_int_ge(cost.high, cost.cost);
    ck_assert_uint_eq(cost.of_us, (uint64_t)(seconds * 1e6));
    ck_assert_str_eq(cost.method, "run_delay");
}

/* 1 / (1 - 0.5) - 1: the cost is 100 %. */
START_TEST(five_minutes_of_harm_in_ten_hours)
{
    begin();
    run(70, 0.5);
    ck_assert(!hpcbd_life_cost(&life, &before, 70, &cost));
    run(230, 0.5);
    expect(300, 1);
    rest(35700);
    expect(36000, 300.0 / 36000);
    ck_assert_double_eq_tol(life.with_s, 300, 1e-6);
}
END_TEST

/* Not the last 512 comparisons, or as many of each kind. */
START_TEST(each_part_counts_for_its_time)
{
    begin();
    run(6400, 0.2);
    run(12800, 0);
    expect(19200, 0.25 / 3);
    /* Few comparisons more are part of it as soon as they are enough. */
    run(640, 0.2);
    run(100, 0.2);
    expect(19940, 0.25 * 7140 / 19940);
}
END_TEST

START_TEST(a_new_daemon_goes_on)
{
    begin();
    run(640, 0.2);
    rest(640);
    expect(1280, 0.125);
    before = cost;
    begin();
    before = cost;
    /* What it has found itself is little yet: guests are taken for what they were. */
    run(70, 0);
    expect(1350, 0.125);
    run(570, 0);
    rest(80);
    expect(2000, 0.125 * 1280 / 2000);
}
END_TEST

START_TEST(time_without_guests_counts_after_a_restart_too)
{
    begin();
    run(640, 0.2);
    expect(640, 0.25);
    before = cost;
    life = (hpcbd_life_t){.seen_ns = 0};
    expect(6400, 0.025);
    ck_assert_str_eq(cost.method, before.method);
}
END_TEST

/* A file of a daemon that did not say how long that was. */
START_TEST(what_has_no_time_does_not_count)
{
    begin();
    run(640, 0.2);
    before = (hpcb_guest_cost_t){.cost = 900000, .low = 900000, .high = 900000};
    expect(640, 0.25);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harm_life");
    TCase *tcase = tcase_create("harm_life");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, five_minutes_of_harm_in_ten_hours);
    tcase_add_test(tcase, each_part_counts_for_its_time);
    tcase_add_test(tcase, a_new_daemon_goes_on);
    tcase_add_test(tcase, time_without_guests_counts_after_a_restart_too);
    tcase_add_test(tcase, what_has_no_time_does_not_count);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
