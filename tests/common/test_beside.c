/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/beside.h"
#include "common/file.h"
#include "tests/common/scratch.h"

#define PRIMARY 7
#define BEGIN   UINT64_C(1000)

static hpcb_beside_t beside;

static void enter(void)
{
    scratch_enter();
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("state/jobs"), 0755, NULL), 0);
    ck_assert_int_eq(hpcb_beside_open(scratch("state"), PRIMARY, NULL), 0);
    beside = (hpcb_beside_t){.known = false};
}

static void leave(void)
{
    free(beside.guests);
}

static void note(bool before, uint32_t guest, uint64_t begin_us, uint64_t cpu_us)
{
    const hpcb_beside_reading_t reading = {
        .guest = guest, .begin_us = begin_us, .cpu_us = cpu_us, .before = before};

    ck_assert_int_eq(hpcb_beside_note(scratch("state"), PRIMARY, &reading, NULL), 0);
}

static void sum(const hpcb_beside_reading_t *now, size_t count)
{
    hpcb_error_t err = {""};

    leave();
    ck_assert_msg(hpcb_beside_sum(scratch("state"), PRIMARY, BEGIN, now, count, &beside,
                                  &err) == 0,
                  "%s", err.text);
}

static void expect(size_t count, uint64_t cpu_us)
{
    ck_assert(beside.known);
    ck_assert_uint_eq(beside.count, count);
    ck_assert_uint_eq(beside.cpu_us, cpu_us);
}

START_TEST(nobody_beside_is_known)
{
    sum(NULL, 0);
    expect(0, 0);
}
END_TEST

/* Its epilog is over, or its prolog has not come so far. */
START_TEST(of_a_primary_that_is_not_there_nothing_is_left)
{
    ck_assert_int_eq(unlink(scratch("state/jobs/7.beside")), 0);
    note(false, 2, 2000, 30);
    ck_assert_int_eq(count_entries(scratch("state/jobs")), 0);
    sum(NULL, 0);
    ck_assert(!beside.known);
}
END_TEST

START_TEST(what_a_guest_had_used_before_does_not_count)
{
    note(true, 1, 500, 40);
    note(false, 1, 500, 45);
    note(false, 2, 2000, 30);
    sum(NULL, 0);
    expect(2, 35);
    ck_assert_uint_eq(beside.guests[0], 1);
    ck_assert_uint_eq(beside.guests[1], 2);
}
END_TEST

START_TEST(guests_that_stay_count_up_to_now)
{
    const hpcb_beside_reading_t now[] = {{.guest = 1, .begin_us = 500, .cpu_us = 60},
                                         {.guest = 9, .begin_us = 1500, .cpu_us = 8}};

    note(true, 1, 500, 40);
    sum(now, 2);
    expect(2, 28);
}
END_TEST

/* It ends while the primary does: both have read it. */
START_TEST(one_run_counts_once_and_its_last_reading)
{
    const hpcb_beside_reading_t now[] = {{.guest = 2, .begin_us = 2000, .cpu_us = 29}};

    note(false, 2, 2000, 30);
    note(false, 2, 2000, 30);
    sum(now, 1);
    expect(1, 30);
}
END_TEST

START_TEST(two_runs_of_a_guest_are_one_guest_and_their_time)
{
    const hpcb_beside_reading_t now[] = {{.guest = 2, .begin_us = 3000, .cpu_us = 4}};

    note(true, 2, 500, 10);
    note(false, 2, 500, 30);
    sum(now, 1);
    expect(1, 24);
}
END_TEST

START_TEST(what_was_gone_before_or_never_read_adds_nothing)
{
    note(true, 1, 500, 40);  /* has ended when the primary began */
    note(false, 3, 900, 70); /* was there, and nobody has read it then */
    note(true, 4, 500, 40);  /* a step's end was read twice, then not */
    note(false, 4, 500, 39);
    sum(NULL, 0);
    expect(2, 0);
}
END_TEST

static const char *const odd_lines[] = {
    "\nnow 5 2000",         "\nnow 5 2000 6 en\n",           "\nnow 5 2000 6 end 7\n",
    "\nthen 5 0 6 end",     "\nnow 4294967296 2000 6 end\n", "\nnow x 2000 6 end\n",
    "\nnow 5 2000 -6 end\n"};

START_TEST(lines_that_cannot_be_are_passed_over)
{
    note(false, 2, 2000, 30);
    ck_assert_int_eq(
        hpcb_file_append(scratch("state/jobs/7.beside"), odd_lines[_i], 0644, NULL), 0);
    note(false, 3, 2000, 1);
    sum(NULL, 0);
    expect(2, 31);
}
END_TEST

START_TEST(too_many_are_not_known)
{
    for (uint32_t i = 1; i <= HPCB_BESIDE_MAX; i++)
        note(false, i, 2000, 1);
    sum(NULL, 0);
    expect(HPCB_BESIDE_MAX, HPCB_BESIDE_MAX);
    note(false, HPCB_BESIDE_MAX + 1, 2000, 1);
    sum(NULL, 0);
    ck_assert(!beside.known);
}
END_TEST

/* Guests that come and go for days. */
START_TEST(the_file_has_an_end)
{
    struct stat st;

    for (uint32_t i = 1; i <= 20000; i++)
        note(false, 5, 2000 + i, 1);
    ck_assert_int_eq(stat(scratch("state/jobs/7.beside"), &st), 0);
    ck_assert_int_le(st.st_size, 200000);
    sum(NULL, 0);
    ck_assert(!beside.known);
}
END_TEST

START_TEST(others_cannot_read_it)
{
    note(false, 2, 2000, 30);
    ck_assert_int_eq(mode_of(scratch("state/jobs/7.beside")), 0600);
}
END_TEST

START_TEST(what_others_may_write_is_not_believed)
{
    hpcb_error_t err = {""};

    note(false, 2, 2000, 30);
    ck_assert_int_eq(chmod(scratch("state/jobs/7.beside"), 0666), 0);
    ck_assert_int_eq(
        hpcb_beside_sum(scratch("state"), PRIMARY, BEGIN, NULL, 0, &beside, &err), -1);
    ck_assert_str_ne(err.text, "");
    ck_assert(!beside.known);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("beside");
    TCase *tc = tcase_create("beside");

    tcase_add_unchecked_fixture(tc, scratch_open, scratch_close);
    tcase_add_checked_fixture(tc, enter, leave);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, nobody_beside_is_known);
    tcase_add_test(tc, of_a_primary_that_is_not_there_nothing_is_left);
    tcase_add_test(tc, what_a_guest_had_used_before_does_not_count);
    tcase_add_test(tc, guests_that_stay_count_up_to_now);
    tcase_add_test(tc, one_run_counts_once_and_its_last_reading);
    tcase_add_test(tc, two_runs_of_a_guest_are_one_guest_and_their_time);
    tcase_add_test(tc, what_was_gone_before_or_never_read_adds_nothing);
    tcase_add_loop_test(tc, lines_that_cannot_be_are_passed_over, 0,
                        (int)(sizeof(odd_lines) / sizeof(odd_lines[0])));
    tcase_add_test(tc, too_many_are_not_known);
    tcase_add_test(tc, the_file_has_an_end);
    tcase_add_test(tc, others_cannot_read_it);
    tcase_add_test(tc, what_others_may_write_is_not_believed);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
