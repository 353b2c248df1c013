/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What is refused is in test_options.c, with the other options. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "common/class.h"
#include "common/window.h"

START_TEST(is_printed_as_it_can_be_read)
{
    static const struct {
        hpcb_window_spec_t spec;
        const char *text;
    } rows[] = {
        {{0, 0}, "none"},
        {{1000000, 900000}, "1s:90%"},
        {{500000, 450000}, "500ms:90%"},
        {{500000, 450001}, "500ms:450001us"},
        {{1500, 1}, "1500us:1us"},
        {{3600000000, 3599999999}, "3600s:3599999999us"},
        {{3000000, 1000000}, "3s:1s"},
    };
    hpcb_window_spec_t read;
    char text[48];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_str_eq(hpcb_window_print(&rows[i].spec, text, sizeof(text)),
                         rows[i].text);
        if (rows[i].spec.period_us == 0)
            continue;
        ck_assert_int_eq(hpcb_window_parse(text, &read), 0);
        ck_assert_uint_eq(read.period_us, rows[i].spec.period_us);
        ck_assert_uint_eq(read.favoured_us, rows[i].spec.favoured_us);
    }
}
END_TEST

START_TEST(survives_printing_at_random)
{
    hpcb_window_spec_t spec, read;
    char text[48];

    srand(6);
    for (int i = 0; i < 100000; i++) {
        spec.period_us = HPCB_WINDOW_PERIOD_MIN_US +
                         (uint64_t)rand() * (uint64_t)(1 + rand() % 3) %
                             (HPCB_WINDOW_PERIOD_MAX_US - HPCB_WINDOW_PERIOD_MIN_US);
        spec.favoured_us = 1 + (uint64_t)rand() % (spec.period_us - 1);
        hpcb_window_print(&spec, text, sizeof(text));
        ck_assert_msg(hpcb_window_parse(text, &read) == 0 &&
                          read.period_us == spec.period_us &&
                          read.favoured_us == spec.favoured_us,
                      "%s", text);
    }
}
END_TEST

START_TEST(a_job_has_what_it_asked_for_or_its_partition_has)
{
    static const struct {
        const char *text;
        hpcb_class_t klass;
        hpcb_window_spec_t asked, expected;
    } rows[] = {
        {"", HPCB_CLASS_PRIMARY, {0, 0}, {0, 0}},
        {"", HPCB_CLASS_PRIMARY, {1000000, 900000}, {1000000, 900000}},
        {"", HPCB_CLASS_PRIMARY, {1000000, 990000}, {1000000, 950000}},
        {"WindowMaxDuty=50", HPCB_CLASS_PRIMARY, {1000000, 990000}, {1000000, 500000}},
        {"", HPCB_CLASS_PRIMARY, {10000000, 9000000}, {10000000, 9000000}},
        {"", HPCB_CLASS_PRIMARY, {10000001, 9000000}, {0, 0}},
        {"Windows=mpi=1s:90%", HPCB_CLASS_PRIMARY, {3600000000, 3384000000}, {0, 0}},
        {"WindowMaxPeriod=3600", HPCB_CLASS_PRIMARY, {3600000000, 1}, {3600000000, 1}},
        {"Windows=60s:90%\nWindowMaxPeriod=60",
         HPCB_CLASS_PRIMARY,
         {0, 0},
         {60000000, 54000000}},
        {"WindowMaxDuty=0", HPCB_CLASS_PRIMARY, {1000000, 990000}, {0, 0}},
        {"Windows=mpi=1s:90%", HPCB_CLASS_PRIMARY, {0, 0}, {1000000, 900000}},
        {"Windows=mpi=1s:90%", HPCB_CLASS_PRIMARY, {2000, 1000}, {2000, 1000}},
        {"Windows=1s:90%", HPCB_CLASS_GUEST, {2000, 1000}, {0, 0}},
        {"Windows=1s:90%", HPCB_CLASS_UNKNOWN, {0, 0}, {0, 0}},
    };
    hpcb_window_spec_t window;
    hpcb_conf_t conf;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_int_eq(
            hpcb_conf_parse("t", rows[i].text, strlen(rows[i].text), &conf, NULL), 0);
        window = rows[i].asked;
        hpcb_class_window(&conf, rows[i].klass, "mpi", &window, &window);
        ck_assert_uint_eq(window.period_us, rows[i].expected.period_us);
        ck_assert_uint_eq(window.favoured_us, rows[i].expected.favoured_us);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("window");
    TCase *tc = tcase_create("text");
    SRunner *runner;

    tcase_add_test(tc, is_printed_as_it_can_be_read);
    tcase_add_test(tc, survives_printing_at_random);
    tcase_add_test(tc, a_job_has_what_it_asked_for_or_its_partition_has);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
