/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdlib.h>
#include "policy/siphash.h"

/* Bytes 0, 1, 2, ... */
static const hpcb_siphash_key_t key = {
    {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
static const unsigned char text[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};

/* The paper's appendix A. */
START_TEST(the_example_of_the_paper)
{
    ck_assert_uint_eq(hpcb_siphash(&key, text, 15), UINT64_C(0xa129ca6149be45e5));
}
END_TEST

/* The first two of the authors' test vectors, and lengths around a word. */
START_TEST(each_length_counts)
{
    uint64_t found[sizeof(text) + 1];

    ck_assert_uint_eq(hpcb_siphash(&key, NULL, 0), UINT64_C(0x726fdb47dd0e0e31));
    ck_assert_uint_eq(hpcb_siphash(&key, text, 1), UINT64_C(0x74f839c593dc67fd));
    for (size_t i = 0; i <= sizeof(text); i++) {
        found[i] = hpcb_siphash(&key, text, i);
        for (size_t k = 0; k < i; k++)
            ck_assert_uint_ne(found[i], found[k]);
    }
}
END_TEST

START_TEST(each_half_of_the_key_counts)
{
    hpcb_siphash_key_t first = key, second = key;

    first.half[0]++;
    second.half[1]++;
    ck_assert_uint_ne(hpcb_siphash(&first, text, 9), hpcb_siphash(&key, text, 9));
    ck_assert_uint_ne(hpcb_siphash(&second, text, 9), hpcb_siphash(&key, text, 9));
    ck_assert_uint_ne(hpcb_siphash(&first, text, 9), hpcb_siphash(&second, text, 9));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("siphash");
    TCase *tcase = tcase_create("siphash");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, the_example_of_the_paper);
    tcase_add_test(tcase, each_length_counts);
    tcase_add_test(tcase, each_half_of_the_key_counts);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
