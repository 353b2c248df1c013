/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/ended.h"
#include "common/file.h"
#include "common/measured.h"
#include "tests/common/tmp.h"

static char dir[TEST_TMP_MAX], path[TEST_TMP_MAX + 64];

static void start(void)
{
    char jobs[TEST_TMP_MAX + 64];

    test_tmp_dir(dir);
    snprintf(jobs, sizeof(jobs), "%s/jobs", dir);
    ck_assert_int_eq(mkdir(jobs, 0755), 0);
    snprintf(path, sizeof(path), "%s/jobs/7.measured", dir);
}

START_TEST(others_cannot_read_it)
{
    static const hpcb_measured_t measured = {.elected_us = 1};
    struct stat status;

    start();
    ck_assert_int_eq(hpcb_measured_save(dir, 7, &measured, NULL), 0);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
}
END_TEST

START_TEST(comes_back)
{
    hpcb_measured_t in = {.network = {.known = true, .bytes = UINT64_MAX, .p95 = 7},
                          .guest_cost = {12000, -300, 24300, "run_delay", 36000000000},
                          .elected_us = 8500000,
                          .restraint = {3, 1, 4000000, 5000000, 0, UINT64_MAX - 1}},
                    out;

    start();
    hpcb_measure_unknown(&in.memory, "no sensor:\nnone at all");
    ck_assert_int_eq(hpcb_measured_save(dir, 7, &in, NULL), 0);
    hpcb_measured_load(dir, 7, &out);
    ck_assert(out.network.known);
    ck_assert_uint_eq(out.network.bytes, UINT64_MAX);
    ck_assert_uint_eq(out.network.p95, 7);
    ck_assert(!out.memory.known);
    ck_assert_str_eq(out.memory.why, "no sensor:?none at all");
    ck_assert_int_eq(out.guest_cost.cost, 12000);
    ck_assert_int_eq(out.guest_cost.low, -300);
    ck_assert_int_eq(out.guest_cost.high, 24300);
    ck_assert_str_eq(out.guest_cost.method, "run_delay");
    ck_assert_uint_eq(out.guest_cost.of_us, 36000000000);
    ck_assert_uint_eq(out.elected_us, 8500000);
    ck_assert_mem_eq(&out.restraint, &in.restraint, sizeof(in.restraint));
    in.guest_cost = hpcb_guest_cost_unknown;
    in.elected_us = HPCB_ELECTED_UNKNOWN;
    in.restraint.throttled_us = HPCB_RESTRAINT_UNKNOWN; /* a primary's */
    ck_assert_int_eq(hpcb_measured_save(dir, 7, &in, NULL), 0);
    hpcb_measured_load(dir, 7, &out);
    ck_assert_int_eq(out.guest_cost.cost, HPCB_COST_UNKNOWN);
    ck_assert_str_eq(out.guest_cost.method, "");
    ck_assert_uint_eq(out.elected_us, HPCB_ELECTED_UNKNOWN);
    ck_assert_uint_eq(out.restraint.sliced_us, 4000000);
    ck_assert_uint_eq(out.restraint.throttled_us, HPCB_RESTRAINT_UNKNOWN);
    ck_assert_uint_eq(out.restraint.starved_us, HPCB_RESTRAINT_UNKNOWN);
    in.restraint = hpcb_restraint_unknown;
    ck_assert_int_eq(hpcb_measured_save(dir, 7, &in, NULL), 0);
    hpcb_measured_load(dir, 7, &out);
    ck_assert_mem_eq(&out.restraint, &in.restraint, sizeof(in.restraint));
}
END_TEST

START_TEST(a_long_reason_is_cut)
{
    hpcb_measured_t in = {0}, out;
    char text[1024];

    start();
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    hpcb_measure_unknown(&in.network, text);
    hpcb_measure_unknown(&in.memory, text);
    ck_assert_int_eq(hpcb_measured_save(dir, 7, &in, NULL), 0);
    hpcb_measured_load(dir, 7, &out);
    ck_assert_uint_eq(strlen(out.memory.why), HPCB_MEASURED_WHY_MAX - 1);
}
END_TEST

static void put_record(unsigned job_id)
{
    char file[TEST_TMP_MAX + 64];

    snprintf(file, sizeof(file), "%s/jobs/%u", dir, job_id);
    ck_assert_int_eq(hpcb_file_replace(file, "", 0, 0644, NULL), 0);
}

static bool exists(const char *name)
{
    char file[TEST_TMP_MAX + 64];

    snprintf(file, sizeof(file), "%s/jobs/%s", dir, name);
    return access(file, F_OK) == 0;
}

START_TEST(why_a_guest_was_ended)
{
    char why[HPCB_ENDED_MAX] = "x", file[TEST_TMP_MAX + 64];

    start();
    put_record(7);
    hpcb_ended_load(dir, 7, why);
    ck_assert_str_eq(why, "");
    ck_assert_int_eq(hpcb_ended_save(dir, 7, HPCB_ENDED_MEMORY, NULL), 0);
    hpcb_ended_load(dir, 7, why);
    ck_assert_str_eq(why, "memory");
    snprintf(file, sizeof(file), "%s/jobs/7.ended", dir);
    ck_assert_int_eq(hpcb_file_replace(file, "no word\n", 8, 0644, NULL), 0);
    hpcb_ended_load(dir, 7, why);
    ck_assert_str_eq(why, "");
}
END_TEST

/* The epilog comes while the word is written, after it has removed what it saw. */
static bool ends_meanwhile;
static unsigned renames;

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    char record[TEST_TMP_MAX + 64];

    snprintf(record, sizeof(record), "%s/jobs/9", dir);
    if (ends_meanwhile)
        unlink(record);
    renames++;
    return __real_rename(from, to);
}

/* Its next run here has the same number. */
START_TEST(no_word_of_a_job_that_is_over)
{
    hpcb_error_t err;

    start();
    renames = 0;
    errno = 0;
    ck_assert_int_eq(hpcb_ended_save(dir, 9, HPCB_ENDED_HARM, &err), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_str_eq(err.text, "job 9 is over");
    ck_assert_uint_eq(renames, 0);
    ck_assert(!exists("9.ended"));
}
END_TEST

START_TEST(no_word_of_a_job_that_ends_meanwhile)
{
    start();
    put_record(9);
    ends_meanwhile = true;
    ck_assert_int_eq(hpcb_ended_save(dir, 9, HPCB_ENDED_HARM, NULL), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert(!exists("9.ended"));
    ends_meanwhile = false;
}
END_TEST

static void leave_word(const char *name)
{
    char file[TEST_TMP_MAX + 64];

    snprintf(file, sizeof(file), "%s/jobs/%s", dir, name);
    ck_assert_int_eq(hpcb_file_replace(file, "harm\n", 5, 0644, NULL), 0);
}

START_TEST(words_that_were_left_are_removed)
{
    static const char *const left[] = {"1.ended", "2.ended", "4294967295.ended"};
    unsigned there = 0;

    start();
    put_record(7);
    leave_word("7.ended");
    leave_word("8.usage");
    leave_word("x.ended");
    leave_word("42949672960.ended");
    for (size_t i = 0; i < 3; i++)
        leave_word(left[i]);
    ck_assert_uint_eq(hpcb_ended_sweep(dir, 2), 2);
    for (size_t i = 0; i < 3; i++)
        there += exists(left[i]);
    ck_assert_uint_eq(there, 1);
    ck_assert_uint_eq(hpcb_ended_sweep(dir, 100), 1);
    ck_assert_uint_eq(hpcb_ended_sweep(dir, 100), 0);
    ck_assert(exists("7.ended") && exists("8.usage") && exists("x.ended") &&
              exists("42949672960.ended"));
}
END_TEST

START_TEST(no_file_is_a_reason)
{
    hpcb_measured_t out;

    start();
    hpcb_measured_load(dir, 8, &out);
    ck_assert(!out.network.known && !out.memory.known);
    ck_assert_str_ne(out.network.why, "");
}
END_TEST

START_TEST(damage_is_not_known)
{
    static const char *const bad[] = {"",
                                      "network\n",
                                      "network 12\n",
                                      "network -1 5\n",
                                      "network 1 2 3\n",
                                      "network 18446744073709551616 1\n",
                                      "network 0x10 1\n",
                                      "guest_cost 1 2 3\n",
                                      "guest_cost 1 2 3 \n",
                                      "guest_cost 1 2 x run_delay\n"};
    hpcb_measured_t out;

    start();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(hpcb_file_swap(path, bad[i], strlen(bad[i]), 0644, NULL), 0);
        hpcb_measured_load(dir, 7, &out);
        ck_assert_msg(!out.network.known, "%s", bad[i]);
        ck_assert_msg(out.guest_cost.cost == HPCB_COST_UNKNOWN, "%s", bad[i]);
    }
    /* Anybody could have written this one. */
    ck_assert_int_eq(hpcb_file_swap(path, "network 5 6\n", 12, 0644, NULL), 0);
    hpcb_measured_load(dir, 7, &out);
    ck_assert(out.network.known);
    ck_assert_int_eq(chmod(path, 0666), 0);
    hpcb_measured_load(dir, 7, &out);
    ck_assert(!out.network.known);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("measured");
    TCase *tcase = tcase_create("measured");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, why_a_guest_was_ended);
    tcase_add_test(tcase, no_word_of_a_job_that_is_over);
    tcase_add_test(tcase, no_word_of_a_job_that_ends_meanwhile);
    tcase_add_test(tcase, words_that_were_left_are_removed);
    tcase_add_test(tcase, comes_back);
    tcase_add_test(tcase, others_cannot_read_it);
    tcase_add_test(tcase, a_long_reason_is_cut);
    tcase_add_test(tcase, no_file_is_a_reason);
    tcase_add_test(tcase, damage_is_not_known);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
