/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy/company.h"

#define NOW  INT64_C(1700000000)
#define HOUR HPCB_COMPANY_HOUR
#define WEEK HPCB_COMPANY_HALF
#define ONE  HPCB_COMPANY_ONE

static hpcb_company_t table, again;
static char text[HPCB_COMPANY_TEXT_MAX], other[HPCB_COMPANY_TEXT_MAX];

static hpcb_company_pair_t seen(uint64_t primary, uint64_t guest, int64_t time)
{
    return (hpcb_company_pair_t){.primary = primary,
                                 .guest = guest,
                                 .primary_uid = 1,
                                 .guest_uid = 2,
                                 .time = time,
                                 .weight = ONE};
}

static bool add(uint64_t primary, uint64_t guest, int64_t time)
{
    const hpcb_company_pair_t pair = seen(primary, guest, time);

    return hpcb_company_add(&table, &pair);
}

static hpcb_company_verdict_t verdict(uint64_t primary, uint64_t guest, int64_t now)
{
    hpcb_company_bad_t bad[HPCB_COMPANY_USER_MAX];
    size_t count = hpcb_company_of(&table, guest, now, bad);

    for (size_t i = 0; i < count; i++)
        if (bad[i].primary == primary)
            return bad[i].verdict;
    return HPCB_COMPANY_FINE;
}

START_TEST(kept_off_then_last_then_forgotten)
{
    ck_assert(add(10, 20, NOW));
    ck_assert_int_eq(verdict(10, 20, NOW), HPCB_COMPANY_APART);
    ck_assert_int_eq(verdict(10, 20, NOW + HOUR - 1), HPCB_COMPANY_APART);
    ck_assert_int_eq(verdict(10, 20, NOW + HOUR), HPCB_COMPANY_LAST);
    ck_assert_int_eq(verdict(10, 20, NOW + 4 * WEEK), HPCB_COMPANY_LAST);
    ck_assert_int_eq(verdict(10, 20, NOW + 4 * WEEK + 24 * HOUR), HPCB_COMPANY_FINE);
    /* Of these two, and nobody else. */
    ck_assert_int_eq(verdict(20, 10, NOW), HPCB_COMPANY_FINE);
    ck_assert_int_eq(verdict(10, 21, NOW), HPCB_COMPANY_FINE);
    ck_assert_int_eq(verdict(11, 20, NOW), HPCB_COMPANY_FINE);
    hpcb_company_expire(&table, NOW + 4 * WEEK);
    ck_assert_uint_eq(table.count, 1);
    hpcb_company_expire(&table, NOW + 4 * WEEK + 24 * HOUR);
    ck_assert_uint_eq(table.count, 0);
}
END_TEST

START_TEST(a_weight_halves_every_week)
{
    hpcb_company_pair_t pair = seen(10, 20, NOW);

    ck_assert_uint_eq(hpcb_company_weight(&pair, NOW), 1000);
    ck_assert_uint_eq(hpcb_company_weight(&pair, NOW + WEEK / 2), 750);
    ck_assert_uint_eq(hpcb_company_weight(&pair, NOW + WEEK), 500);
    ck_assert_uint_eq(hpcb_company_weight(&pair, NOW + 3 * WEEK), 125);
    ck_assert_uint_eq(hpcb_company_weight(&pair, INT64_MAX), 0);
    /* A clock that was set back. */
    ck_assert_uint_eq(hpcb_company_weight(&pair, 0), 1000);
}
END_TEST

/* Each time weighs more, but a hundred nodes within the hour are one time. */
START_TEST(who_is_bad_again_is_kept_off_longer)
{
    ck_assert(add(10, 20, NOW));
    for (int i = 1; i < 100; i++)
        ck_assert(add(10, 20, NOW + i));
    ck_assert_uint_eq(table.count, 1);
    ck_assert_int_le(hpcb_company_apart_until(&table.pairs[0]), NOW + 99 + HOUR);
    ck_assert(add(10, 20, NOW + 2 * HOUR));
    ck_assert_uint_gt(table.pairs[0].weight, 1900);
    ck_assert_int_eq(verdict(10, 20, NOW + 2 * HOUR + 6800), HPCB_COMPANY_APART);
    for (int i = 2; i < 100; i++)
        ck_assert(add(10, 20, NOW + 2 * HOUR * i));
    ck_assert_uint_eq(table.pairs[0].weight, HPCB_COMPANY_WEIGHT_MAX);
}
END_TEST

START_TEST(what_is_known_or_none_changes_nothing)
{
    hpcb_company_pair_t pair = seen(10, 20, NOW);

    ck_assert(hpcb_company_add(&table, &pair));
    ck_assert(!hpcb_company_add(&table, &pair));
    pair.time--;
    ck_assert(!hpcb_company_add(&table, &pair));
    ck_assert(!add(0, 20, NOW));
    ck_assert(!add(10, 0, NOW));
    ck_assert(!add(11, 20, -1));
    ck_assert(!add(11, 20, INT64_MAX));
    pair = seen(11, 20, NOW);
    pair.weight = 0;
    ck_assert(!hpcb_company_add(&table, &pair));
    ck_assert_uint_eq(table.count, 1);
}
END_TEST

/* Who makes up programs pushes out his own pairs: as the owner of guests (0) and of
 * primaries (1). */
START_TEST(one_user_cannot_fill_the_table)
{
    hpcb_company_pair_t pair;

    ck_assert(add(10, 20, NOW));
    for (uint64_t i = 0; i < 10000; i++) {
        pair = seen(1000 + i, 100000 + i, NOW + (int64_t)i);
        pair.guest_uid = _i ? 100 + (uint32_t)i % 50 : 7;
        pair.primary_uid = _i ? 7 : 100 + (uint32_t)i % 50;
        ck_assert(hpcb_company_add(&table, &pair));
    }
    ck_assert_uint_eq(table.count, 1 + HPCB_COMPANY_USER_MAX);
    ck_assert_int_eq(verdict(10, 20, NOW), HPCB_COMPANY_APART);
    /* The newest are there. */
    ck_assert_int_eq(verdict(10999, 109999, NOW + 9999), HPCB_COMPANY_APART);
}
END_TEST

/* What 8's guests are known for by 9's primaries stays, whatever 7's find. */
START_TEST(one_user_cannot_push_out_what_others_know)
{
    hpcb_company_pair_t pair = seen(10, 20, NOW);

    pair.primary_uid = 9;
    pair.guest_uid = 8;
    ck_assert(hpcb_company_add(&table, &pair));
    for (uint64_t i = 0; i < 1000; i++) {
        pair = seen(1000 + i, 20, NOW + 2 * HOUR);
        pair.weight = 5 * HPCB_COMPANY_ONE;
        pair.primary_uid = 7;
        pair.guest_uid = 8;
        ck_assert(hpcb_company_add(&table, &pair));
    }
    ck_assert_uint_eq(table.count, 1 + HPCB_COMPANY_BOTH_MAX);
    ck_assert_int_eq(verdict(10, 20, NOW), HPCB_COMPANY_APART);
}
END_TEST

/* Many users who fill it do not push out who has few. */
START_TEST(many_users_push_out_their_own)
{
    hpcb_company_pair_t pair;

    ck_assert(add(10, 20, NOW));
    for (uint64_t i = 0; i < HPCB_COMPANY_MAX + 100; i++) {
        pair = seen(1000 + i, 100000 + i, NOW + 1);
        pair.guest_uid = 100 + (uint32_t)i % 200;
        pair.primary_uid = 1000 + (uint32_t)i % 300;
        ck_assert(hpcb_company_add(&table, &pair));
    }
    ck_assert_uint_eq(table.count, HPCB_COMPANY_MAX);
    ck_assert_int_eq(verdict(10, 20, NOW), HPCB_COMPANY_APART);
    /* There is a place for who has none. */
    pair = seen(11, 21, NOW + 1);
    pair.guest_uid = 9999;
    ck_assert(hpcb_company_add(&table, &pair));
    ck_assert_uint_eq(table.count, HPCB_COMPANY_MAX);
    ck_assert_int_eq(verdict(11, 21, NOW + 1), HPCB_COMPANY_APART);
    ck_assert_int_eq(verdict(10, 20, NOW), HPCB_COMPANY_APART);
}
END_TEST

START_TEST(text_is_read_back)
{
    hpcb_company_pair_t pair = {UINT64_MAX, UINT64_MAX - 1, UINT32_MAX,
                                UINT32_MAX, INT64_MAX / 2,  UINT32_MAX};

    ck_assert_uint_eq(hpcb_company_print(&table, text), strlen(text));
    ck_assert_int_eq(hpcb_company_parse(&again, text), 0);
    ck_assert_uint_eq(again.count, 0);
    ck_assert(hpcb_company_add(&table, &pair));
    ck_assert(add(10, 20, NOW));
    ck_assert_uint_eq(hpcb_company_print(&table, text), strlen(text));
    ck_assert_int_eq(hpcb_company_parse(&again, text), 0);
    ck_assert_uint_eq(again.count, 2);
    ck_assert_uint_eq(again.pairs[0].guest, UINT64_MAX - 1);
    ck_assert_uint_eq(again.pairs[0].guest_uid, UINT32_MAX);
    ck_assert_uint_eq(again.pairs[0].weight, HPCB_COMPANY_WEIGHT_MAX);
    hpcb_company_print(&again, other);
    ck_assert_str_eq(other, text);
}
END_TEST

/* The longest lines, and as many as there can be. */
START_TEST(a_full_table_fits_its_text)
{
    hpcb_company_pair_t pair;

    for (uint32_t i = 0; i < HPCB_COMPANY_MAX; i++) {
        pair = (hpcb_company_pair_t){UINT64_MAX - i, UINT64_MAX,    UINT32_MAX - i,
                                     UINT32_MAX - i, INT64_MAX / 2, UINT32_MAX};
        ck_assert(hpcb_company_add(&table, &pair));
    }
    ck_assert_uint_lt(hpcb_company_print(&table, text), sizeof(text));
    ck_assert_int_eq(hpcb_company_parse(&again, text), 0);
    ck_assert_uint_eq(again.count, HPCB_COMPANY_MAX);
}
END_TEST

START_TEST(other_texts_are_refused)
{
    static const char *const others[] = {
        "",
        "hpcb-company 2\n",
        "hpcb-company 1",
        "hpcb-company 1\n\n",
        "hpcb-company 1\n1 2 3 4 5\n",
        "hpcb-company 1\n1 2 3 4 5 6",
        "hpcb-company 1\n1 2 3 4 5 6 7\n",
        "hpcb-company 1\n1 2 3 4 5 x\n",
        "hpcb-company 1\n1 2 3 4 5 6\nhpcb-company 1\n",
        "hpcb-company 1\n                                                              "
        "                                  1 2 3 4 5 6\n",
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert_msg(hpcb_company_parse(&again, others[i]) < 0, "%zu", i);
    ck_assert_int_eq(hpcb_company_parse(&again, "hpcb-company 1\n1 2 3 4 5 6\n"), 0);
    ck_assert_uint_eq(again.count, 1);
}
END_TEST

START_TEST(old_ones_are_dropped)
{
    ck_assert(add(10, 20, NOW));
    ck_assert(add(11, 20, NOW + 1));
    /* The clock has been set back since. */
    ck_assert(add(12, 20, NOW + 9));
    hpcb_company_drop(&table, NOW + 1, NOW + 8);
    ck_assert_uint_eq(table.count, 1);
    ck_assert_uint_eq(table.pairs[0].primary, 11);
}
END_TEST

static void setup(void)
{
    table.count = 0;
}

int main(void)
{
    Suite *suite = suite_create("company");
    TCase *tc = tcase_create("company");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, kept_off_then_last_then_forgotten);
    tcase_add_test(tc, a_weight_halves_every_week);
    tcase_add_test(tc, who_is_bad_again_is_kept_off_longer);
    tcase_add_test(tc, what_is_known_or_none_changes_nothing);
    tcase_add_loop_test(tc, one_user_cannot_fill_the_table, 0, 2);
    tcase_add_test(tc, one_user_cannot_push_out_what_others_know);
    tcase_add_test(tc, many_users_push_out_their_own);
    tcase_add_test(tc, text_is_read_back);
    tcase_add_test(tc, a_full_table_fits_its_text);
    tcase_add_test(tc, other_texts_are_refused);
    tcase_add_test(tc, old_ones_are_dropped);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
