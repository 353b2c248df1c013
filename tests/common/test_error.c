/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "tests/common/scratch.h"

START_TEST(returns_minus_one_and_keeps_errno)
{
    hpcb_error_t err;

    errno = EXDEV;
    ck_assert_int_eq(hpcb_error(&err, "%s %d", "node", 7), -1);
    ck_assert_int_eq(errno, EXDEV);
    ck_assert_str_eq(err.text, "node 7");
    ck_assert_int_eq(hpcb_error(NULL, "%s", "nobody listens"), -1);
}
END_TEST

START_TEST(hostile_text_stays_on_one_line)
{
    hpcb_error_t err;

    hpcb_error(&err, "--x=%s: no", "a\nslurmd: error: \x1b[2Jb\r\x7f");
    ck_assert_str_eq(err.text, "--x=a?slurmd: error: ?[2Jb??: no");
}
END_TEST

START_TEST(long_text_is_cut)
{
    struct {
        hpcb_error_t err;
        char guard;
    } box = {.guard = 'g'};
    char text[4096];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    hpcb_error(&box.err, "%s", text);
    ck_assert_uint_eq(strlen(box.err.text), HPCB_ERROR_MAX - 1);
    ck_assert_int_eq(box.guard, 'g');
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("error");
    TCase *tc = tcase_create("error");

    tcase_add_test(tc, returns_minus_one_and_keeps_errno);
    tcase_add_test(tc, hostile_text_stays_on_one_line);
    tcase_add_test(tc, long_text_is_cut);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
