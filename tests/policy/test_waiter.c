/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Who spins in a wait, and what it gets. */
#include "config.h"

#include <check.h>
#include <stdlib.h>

#include "policy/share.h"
#include "policy/waiter.h"

START_TEST(who_wants_its_cpu_twice_in_a_wait_spins)
{
    hpcb_waiter_t waiter = {0};

    ck_assert_int_eq(hpcb_waiter_scan(&waiter, 7), HPCB_WAITER_SAME);
    ck_assert_int_eq(hpcb_waiter_scan(&waiter, 7), HPCB_WAITER_ASK);
    ck_assert(!hpcb_waiter_wants(&waiter, true));
    ck_assert_int_eq(hpcb_waiter_scan(&waiter, 7), HPCB_WAITER_ASK);
    ck_assert(hpcb_waiter_wants(&waiter, true));
    ck_assert(waiter.spins);
    ck_assert_int_eq(hpcb_waiter_scan(&waiter, 7), HPCB_WAITER_SAME);
    ck_assert_int_eq(hpcb_waiter_scan(&waiter, 8), HPCB_WAITER_CHANGED);
    ck_assert(!waiter.spins);
    ck_assert_int_eq(hpcb_waiter_scan(&waiter, 8), HPCB_WAITER_SAME);
}
END_TEST

START_TEST(the_next_wait_is_another_one)
{
    hpcb_waiter_t waiter = {.waits = 7};

    for (uint64_t waits = 7; waits < 99; waits += 2) {
        ck_assert_int_eq(hpcb_waiter_scan(&waiter, waits),
                         waits == 7 ? HPCB_WAITER_ASK : HPCB_WAITER_SAME);
        if (waits == 7)
            ck_assert(!hpcb_waiter_wants(&waiter, true));
        ck_assert_int_eq(hpcb_waiter_scan(&waiter, waits), HPCB_WAITER_ASK);
        if (waits > 7)
            ck_assert(!hpcb_waiter_wants(&waiter, true));
    }
    ck_assert(!waiter.spins);
}
END_TEST

START_TEST(who_sleeps_is_asked_once)
{
    hpcb_waiter_t waiter = {.waits = 7};

    ck_assert_int_eq(hpcb_waiter_scan(&waiter, 7), HPCB_WAITER_ASK);
    ck_assert(!hpcb_waiter_wants(&waiter, false));
    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(hpcb_waiter_scan(&waiter, 7), HPCB_WAITER_SAME);
    ck_assert(!waiter.spins);
    ck_assert_int_eq(hpcb_waiter_scan(&waiter, 9), HPCB_WAITER_SAME);
    ck_assert_int_eq(hpcb_waiter_scan(&waiter, 9), HPCB_WAITER_ASK);
}
END_TEST

START_TEST(what_is_unknown_is_not_lowered)
{
    hpcb_waiter_t waiter = {.spins = true};

    ck_assert(hpcb_waiter_unknown(&waiter));
    ck_assert(!waiter.spins);
    ck_assert(!hpcb_waiter_unknown(&waiter));
}
END_TEST

START_TEST(who_is_lowered)
{
    const hpcb_waiter_t spins = {.spins = true}, works = {0};
    hpcb_balance_conf_t dlrb = hpcb_balance_conf(HPCB_BALANCE_DLRB);
    hpcb_balance_conf_t automatic = hpcb_balance_conf(HPCB_BALANCE_AUTO);
    hpcb_balance_t balance = {0};

    ck_assert(hpcb_waiter_is_lowered(&spins, true, &dlrb, &balance));
    ck_assert(!hpcb_waiter_is_lowered(&spins, false, &dlrb, &balance));
    ck_assert(!hpcb_waiter_is_lowered(&works, true, &dlrb, &balance));
    ck_assert(hpcb_waiter_is_lowered(&spins, true, &automatic, &balance));
    balance.automatic.resting = 1;
    ck_assert(!hpcb_waiter_is_lowered(&spins, true, &automatic, &balance));
}
END_TEST

START_TEST(how_far_it_is_lowered)
{
    ck_assert_uint_eq(hpcb_waiter_weight(1024), 68);
    ck_assert_uint_eq(hpcb_waiter_weight(1), 1);
    ck_assert_uint_eq(hpcb_waiter_time(HPCB_SHARE_ONE), 125000);
    ck_assert_uint_eq(hpcb_waiter_time(10000), 10000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("waiter");
    TCase *tcase = tcase_create("waiter");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, who_wants_its_cpu_twice_in_a_wait_spins);
    tcase_add_test(tcase, the_next_wait_is_another_one);
    tcase_add_test(tcase, who_sleeps_is_asked_once);
    tcase_add_test(tcase, what_is_unknown_is_not_lowered);
    tcase_add_test(tcase, who_is_lowered);
    tcase_add_test(tcase, how_far_it_is_lowered);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
