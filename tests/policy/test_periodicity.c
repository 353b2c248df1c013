/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "policy/periodicity.h"

#define LONGEST 6000

/* A stream that is written down as a whole, and what the definition in the header says
 * of it, worked out anew at every event. */
static uint16_t stream[LONGEST];
static unsigned length;
static unsigned oracle_period;

static uint32_t seed;

static unsigned chance(unsigned below)
{
    seed = seed * 1664525U + 1013904223U;
    return (seed >> 8) % below;
}

static void add(uint16_t symbol)
{
    ck_assert_uint_lt(length, LONGEST);
    stream[length++] = symbol;
}

static void add_times(const char *events, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        for (const char *e = events; *e; e++)
            add((uint16_t)*e);
}

/* r(m) of the header, after n events. */
static unsigned run_of(unsigned n, unsigned m)
{
    unsigned run = 0;

    while (run + m < n && stream[n - 1 - run] == stream[n - 1 - run - m])
        run++;
    return run;
}

static unsigned oracle(unsigned n)
{
    if (oracle_period > 0 && run_of(n, oracle_period) > 0)
        return oracle_period;
    oracle_period = 0;
    for (unsigned m = 1; m <= HPCB_PERIOD_MAX && oracle_period == 0; m++) {
        unsigned run = run_of(n, m);

        if (run >= m && run >= 2)
            oracle_period = m;
    }
    return oracle_period;
}

/* Everything in stream through detector; the period and every place are right. */
static void compare(hpcb_period_t *detector)
{
    unsigned since = 0;

    hpcb_period_reset(detector);
    oracle_period = 0;
    for (unsigned n = 1; n <= length; n++) {
        unsigned was = oracle_period;
        hpcb_period_place_t place = hpcb_period_event(detector, stream[n - 1]);
        unsigned expected = oracle(n);

        ck_assert_msg(detector->period == expected, "event %u: %u, not %u", n,
                      detector->period, expected);
        since = expected == 0 || expected != was || run_of(n, was) == 0 ? 0 : since + 1;
        if (expected == 0)
            ck_assert_int_eq(place, HPCB_PERIOD_NONE);
        else if (since % expected == 0)
            ck_assert_int_eq(place, HPCB_PERIOD_END);
        else
            ck_assert_int_eq(place, HPCB_PERIOD_INSIDE);
    }
}

static hpcb_period_t detector;

static void setup(void)
{
    length = 0;
    seed = 20260101;
}

START_TEST(random_events)
{
    seed += (uint32_t)_i;
    for (unsigned i = 0; i < 1500; i++)
        add((uint16_t)(1 + chance(1 + (unsigned)_i % 5)));
    compare(&detector);
}
END_TEST

/* Loops of loops of any lengths, now and then with an event that belongs to none. */
START_TEST(random_programs)
{
    uint16_t body[HPCB_PERIOD_MAX + 50];
    unsigned events, times;

    seed += 7919 * (uint32_t)_i;
    while (length + 2000 < LONGEST) {
        events = 1 + chance(chance(2) ? 6 : HPCB_PERIOD_MAX + 50);
        times = 1 + chance(events < 8 ? 300 : 6);
        for (unsigned i = 0; i < events; i++)
            body[i] = (uint16_t)(1 + chance(4));
        for (unsigned t = 0; t < times; t++) {
            for (unsigned i = 0; i < events && length < LONGEST - 2; i++)
                add(body[i]);
            if (chance(40) == 0)
                add(9);
        }
    }
    compare(&detector);
}
END_TEST

/* Until after the window has moved several times. */
START_TEST(every_length)
{
    unsigned period = (unsigned)_i;

    for (unsigned i = 0; i < 4000; i++)
        add((uint16_t)(1 + i % period));
    compare(&detector);
    ck_assert_uint_eq(detector.period, period <= HPCB_PERIOD_MAX ? period : 0);
}
END_TEST

START_TEST(found_after_two_iterations)
{
    add_times("init", 1);
    add_times("RRSSWA", 2);
    compare(&detector);
    ck_assert_uint_eq(detector.period, 6);
    ck_assert_uint_eq(detector.held, 0);
}
END_TEST

START_TEST(one_call_an_iteration)
{
    add_times("B", 3);
    compare(&detector);
    ck_assert_uint_eq(detector.period, 1);
}
END_TEST

START_TEST(outer_loop_wins_and_stays)
{
    for (unsigned i = 0; i < 12; i++) {
        add_times("RSWA", 20);
        add_times("G", 1);
    }
    compare(&detector);
    ck_assert_uint_eq(detector.period, 81);
    /* Since the end of the second round, which is longer ago. */
    ck_assert_uint_eq(detector.held, HPCB_PERIOD_WINDOW);
}
END_TEST

START_TEST(three_levels)
{
    for (unsigned i = 0; i < 6; i++) {
        for (unsigned j = 0; j < 5; j++) {
            add_times("SR", 4);
            add_times("A", 1);
        }
        add_times("BB", 1);
    }
    compare(&detector);
    ck_assert_uint_eq(detector.period, 47);
}
END_TEST

START_TEST(outer_loop_beyond_the_window)
{
    unsigned inner = 0;

    hpcb_period_reset(&detector);
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned j = 0; j < 400; j++) {
            hpcb_period_event(&detector, (uint16_t)(1 + j % 4));
            inner += detector.period == 4;
        }
        hpcb_period_event(&detector, 99);
    }
    ck_assert_uint_gt(inner, 5 * (400 - 2 * 4 - 1));
}
END_TEST

START_TEST(a_stray_event_costs_two_iterations)
{
    add_times("SRWA", 300);
    add_times("P", 1);
    add_times("SRWA", 1);
    compare(&detector);
    ck_assert_uint_eq(detector.period, 0);
    add_times("SRWA", 1);
    compare(&detector);
    ck_assert_uint_eq(detector.period, 4);
}
END_TEST

START_TEST(change_of_phase)
{
    add_times("SRWA", 300);
    compare(&detector);
    ck_assert_uint_eq(detector.period, 4);
    add_times("SRWABB", 300);
    compare(&detector);
    ck_assert_uint_eq(detector.period, 6);
    add_times("AB", 3);
    compare(&detector);
    ck_assert_uint_eq(detector.period, 2);
}
END_TEST

/* A loop that has run for long becomes a shorter one: seen at its first end. */
START_TEST(an_old_loop_grows_shorter)
{
    add_times("AAAAAB", 200);
    add_times("AAAAB", 1);
    compare(&detector);
    ck_assert_uint_eq(detector.period, 5);
}
END_TEST

START_TEST(old_loops_that_break_anyhow)
{
    char body[10] = "";

    seed += 104729 * (uint32_t)_i;
    while (length + 700 < LONGEST) {
        unsigned events = 1 + chance(sizeof(body) - 2);

        for (unsigned i = 0; i < events; i++)
            body[i] = "AB"[chance(2)];
        body[events] = '\0';
        add_times(body, 600 / events + 2);
        add_times(body + chance(events), 1);
        add_times(&"AB"[chance(2)], 1);
    }
    compare(&detector);
}
END_TEST

START_TEST(noise_has_no_period_for_long)
{
    unsigned held = 0;

    hpcb_period_reset(&detector);
    for (unsigned i = 0; i < 100000; i++) {
        hpcb_period_event(&detector, (uint16_t)(1 + chance(8)));
        if (detector.held > held)
            held = detector.held;
    }
    ck_assert_uint_lt(held, 20);
}
END_TEST

START_TEST(symbols)
{
    bool seen[UINT16_MAX + 1] = {false};
    unsigned different = 0;

    for (uint64_t i = 0; i < 1000; i++) {
        /* Neighbouring call sites, and numbers that differ in high bits only. */
        uint16_t symbol = hpcb_period_symbol(i % 2 ? 0x55d0c0de1000 + i * 8 : i << 40);

        ck_assert_uint_ne(symbol, 0);
        different += !seen[symbol];
        seen[symbol] = true;
    }
    ck_assert_uint_gt(different, 980);
    ck_assert_uint_ne(hpcb_period_symbol(0), 0);
    ck_assert_uint_ne(hpcb_period_symbol(UINT64_MAX), 0);
}
END_TEST

START_TEST(memory_is_constant)
{
    ck_assert_uint_lt(sizeof(hpcb_period_t), 4096);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("periodicity");
    TCase *tcase = tcase_create("periodicity");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, random_events, 0, 10);
    tcase_add_loop_test(tcase, random_programs, 0, 10);
    tcase_add_loop_test(tcase, every_length, 1, 12);
    tcase_add_loop_test(tcase, every_length, HPCB_PERIOD_MAX - 2, HPCB_PERIOD_MAX + 3);
    tcase_add_test(tcase, found_after_two_iterations);
    tcase_add_test(tcase, one_call_an_iteration);
    tcase_add_test(tcase, outer_loop_wins_and_stays);
    tcase_add_test(tcase, three_levels);
    tcase_add_test(tcase, outer_loop_beyond_the_window);
    tcase_add_test(tcase, a_stray_event_costs_two_iterations);
    tcase_add_test(tcase, change_of_phase);
    tcase_add_test(tcase, an_old_loop_grows_shorter);
    tcase_add_loop_test(tcase, old_loops_that_break_anyhow, 0, 10);
    tcase_add_test(tcase, noise_has_no_period_for_long);
    tcase_add_test(tcase, symbols);
    tcase_add_test(tcase, memory_is_constant);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
