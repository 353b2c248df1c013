/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mpi/environ.h"

#define US 1000U

/* The library takes itself for the file that it is linked into: this program. */
static const char *self;

static void spin(const char *text, uint64_t expected_us)
{
    if (text)
        setenv("HPCB_YIELD_SPIN", text, 1);
    else
        unsetenv("HPCB_YIELD_SPIN");
    ck_assert_msg(hpcb_environ_naps().spin_ns == expected_us * US, "%s: %lu ns", text,
                  hpcb_environ_naps().spin_ns);
}

static void nap_max(const char *text, uint64_t expected_us)
{
    if (text)
        setenv("HPCB_YIELD_NAP_MAX", text, 1);
    else
        unsetenv("HPCB_YIELD_NAP_MAX");
    ck_assert_msg(hpcb_environ_naps().nap_max_ns == expected_us * US, "%s: %lu ns",
                  text, hpcb_environ_naps().nap_max_ns);
}

START_TEST(test_settings)
{
    spin("0", 0);
    spin("7", 7);
    spin("007", 7);
    spin("10000", 10000);
    nap_max("1", 1);
    nap_max("100000", 100000);
}
END_TEST

START_TEST(test_malformed_settings)
{
    static const char *const malformed[] = {"",
                                            " ",
                                            "-1",
                                            "+5",
                                            " 5",
                                            "5 ",
                                            "5us",
                                            "0x10",
                                            "1e3",
                                            "1.5",
                                            "five",
                                            "\n",
                                            "\xff\xfe",
                                            "99999999999999999999999999999999",
                                            "18446744073709551617"};
    uint64_t spin_us, nap_us;

    unsetenv("HPCB_YIELD_SPIN");
    unsetenv("HPCB_YIELD_NAP_MAX");
    spin_us = hpcb_environ_naps().spin_ns / US;
    nap_us = hpcb_environ_naps().nap_max_ns / US;
    ck_assert_uint_ge(nap_us, 1);
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        spin(malformed[i], spin_us);
        nap_max(malformed[i], nap_us);
    }
    spin("10001", spin_us);
    nap_max("0", nap_us);
    nap_max("100001", nap_us);
}
END_TEST

/* % stands for the own name. */
static char *expand(const char *text)
{
    char *out = calloc(1, strlen(text) * (strlen(self) + 1) + 1);

    ck_assert_ptr_nonnull(out);
    for (; *text; text++)
        if (*text == '%')
            strcat(out, self);
        else
            strncat(out, text, 1);
    return out;
}

static void leaves(const char *list, const char *expected)
{
    char *before = expand(list), *after = expected ? expand(expected) : NULL;
    const char *now;

    setenv("LD_PRELOAD", before, 1);
    setenv("HPCB_YIELD_JOB", "9", 1);
    hpcb_environ_leave();
    ck_assert_ptr_null(getenv("HPCB_YIELD_JOB"));
    now = getenv("LD_PRELOAD");
    if (after)
        ck_assert_msg(now && !strcmp(now, after), "%s: %s", before, now);
    else
        ck_assert_msg(!now, "%s: %s", before, now);
    free(before);
    free(after);
}

START_TEST(test_leaves_ld_preload)
{
    leaves("%", NULL);
    leaves("/usr/lib/%", NULL);
    leaves("/usr/lib/%:/lib/%", NULL);
    leaves("/a/one.so:/usr/lib/%", "/a/one.so");
    leaves("/usr/lib/%:two.so", "two.so");
    leaves("/a/one.so:/usr/lib/%:two.so", "/a/one.so:two.so");
    leaves("/a/one.so /usr/lib/% two.so", "/a/one.so:two.so");
    leaves("::one.so: :%: ", "one.so");
}
END_TEST

START_TEST(test_leaves_others_alone)
{
    leaves("/a/one.so", "/a/one.so");
    leaves("/a/x%", "/a/x%");
    leaves("/a/%x", "/a/%x");
    leaves("/%/one.so", "/%/one.so");
    leaves("x%:%:%x", "x%:%x");
    unsetenv("LD_PRELOAD");
    hpcb_environ_leave();
    ck_assert_ptr_null(getenv("LD_PRELOAD"));
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("environ");
    TCase *tcase = tcase_create("environ");
    SRunner *runner;
    int failed;

    (void)argc;
    self = strrchr(argv[0], '/');
    self = self ? self + 1 : argv[0];
    tcase_add_test(tcase, test_settings);
    tcase_add_test(tcase, test_malformed_settings);
    tcase_add_test(tcase, test_leaves_ld_preload);
    tcase_add_test(tcase, test_leaves_others_alone);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
