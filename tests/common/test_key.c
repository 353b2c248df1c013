/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "common/key.h"
#include "tests/common/scratch.h"

static unsigned char secret[HPCB_KEY_MAX];
static hpcb_error_t err;

static void put(size_t length, mode_t mode)
{
    char text[HPCB_KEY_MAX + 1];

    memset(text, 'x', sizeof(text));
    unlink(scratch("hpc-balance.key"));
    ck_assert_int_eq(
        hpcb_file_replace(scratch("hpc-balance.key"), text, length, mode, NULL), 0);
    ck_assert_int_eq(chmod(scratch("hpc-balance.key"), mode), 0);
}

static ssize_t length(void)
{
    return hpcb_key_read(scratch("hpc-balance.conf"), secret, &err);
}

START_TEST(it_is_next_to_the_configuration)
{
    char path[PATH_MAX], longest[PATH_MAX];

    ck_assert_int_eq(hpcb_key_path("/etc/slurm/hpc-balance.conf", path), 0);
    ck_assert_str_eq(path, "/etc/slurm/hpc-balance.key");
    ck_assert_int_eq(hpcb_key_path("other.conf", path), 0);
    ck_assert_str_eq(path, "hpc-balance.key");
    memset(longest, '/', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    ck_assert_int_eq(hpcb_key_path(longest, path), -1);
}
END_TEST

START_TEST(none)
{
    ck_assert_int_eq(length(), -1);
    ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(one_that_is_good)
{
    put(HPCB_KEY_MIN, 0600);
    ck_assert_int_eq(length(), HPCB_KEY_MIN);
    ck_assert_int_eq(secret[HPCB_KEY_MIN - 1], 'x');
    put(HPCB_KEY_MAX, 0400);
    ck_assert_int_eq(length(), HPCB_KEY_MAX);
}
END_TEST

START_TEST(too_short_or_too_long)
{
    put(HPCB_KEY_MIN - 1, 0600);
    ck_assert_int_eq(length(), -1);
    ck_assert_int_eq(errno, ERANGE);
    put(HPCB_KEY_MAX + 1, 0600);
    ck_assert_int_eq(length(), -1);
    ck_assert_int_eq(errno, ERANGE);
}
END_TEST

START_TEST(one_that_others_may_read)
{
    static const mode_t modes[] = {0640, 0604, 0610};

    put(HPCB_KEY_MIN, modes[_i]);
    ck_assert_int_eq(length(), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_ptr_nonnull(strstr(err.text, "hpc-balance.key"));
}
END_TEST

START_TEST(no_link)
{
    put(HPCB_KEY_MIN, 0600);
    ck_assert_int_eq(rename(scratch("hpc-balance.key"), scratch("else")), 0);
    ck_assert_int_eq(symlink(scratch("else"), scratch("hpc-balance.key")), 0);
    ck_assert_int_eq(length(), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key");
    TCase *tc = scratch_case("key");

    tcase_add_test(tc, it_is_next_to_the_configuration);
    tcase_add_test(tc, none);
    tcase_add_test(tc, one_that_is_good);
    tcase_add_test(tc, too_short_or_too_long);
    tcase_add_loop_test(tc, one_that_others_may_read, 0, 3);
    tcase_add_test(tc, no_link);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
