/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include "policy/share.h"

/* Table 2.1. */
static const struct {
    unsigned difference, r;
} table_2_1[] = {{0, 2}, {1, 4}, {2, 8}, {3, 16}, {4, 32}};

START_TEST(slots_of_table_2_1)
{
    ck_assert_uint_eq(hpcb_share_slots(table_2_1[_i].difference), table_2_1[_i].r);
}
END_TEST

/* Whoever shares a CPU by the weights gets what table 2.1 says: 1024 is fine enough for
 * 2 %, 100 for 7 % of the lower one's part. */
START_TEST(weights_share_as_table_2_1_does)
{
    static const struct {
        uint32_t top;
        double off;
    } scales[] = {{10000, 0.002}, {1024, 0.02}, {100, 0.07}};
    double expected = 1.0 / table_2_1[_i].r;

    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        double low = hpcb_share_weight(table_2_1[_i].difference, scales[i].top);
        double part = low / (low + scales[i].top);

        ck_assert_double_eq_tol(part, expected, expected * scales[i].off);
    }
}
END_TEST

START_TEST(weights_stay_in_the_kernels_range)
{
    ck_assert_uint_eq(hpcb_share_weight(0, 100), 100);
    ck_assert_uint_eq(hpcb_share_weight(UINT_MAX, 1), 1);
    ck_assert_uint_eq(hpcb_share_weight(5, 100), 2);
    ck_assert_uint_eq(hpcb_share_weight(0, UINT32_MAX), UINT32_MAX);
}
END_TEST

START_TEST(ppr_levels_of_user_code)
{
    static const unsigned expected[] = {4, 3, 2, 2, 2, 2};

    for (unsigned i = 0; i < 6; i++)
        ck_assert_uint_eq(hpcb_share_ppr(i), expected[i]);
    ck_assert_uint_eq(hpcb_share_ppr(UINT_MAX), 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("share");
    TCase *tcase = tcase_create("share");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, slots_of_table_2_1, 0, 5);
    tcase_add_loop_test(tcase, weights_share_as_table_2_1_does, 0, 5);
    tcase_add_test(tcase, weights_stay_in_the_kernels_range);
    tcase_add_test(tcase, ppr_levels_of_user_code);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
