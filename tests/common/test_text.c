/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>
#include <stdint.h>
#include <string.h>

#include "common/text.h"
#include "tests/common/comma.h"
#include "tests/common/scratch.h"

START_TEST(numbers_are_digits_only)
{
    static const char *const bad[] = {"",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "-1",
                                      "0x10",
                                      "1e3",
                                      "1.0",
                                      "inf",
                                      "nan",
                                      "1\n",
                                      "18446744073709551616",
                                      "99999999999999999999999999"};
    uint64_t value = 7;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(hpcb_text_u64(bad[i], UINT64_MAX, &value) == -1, "%s", bad[i]);
    ck_assert_uint_eq(value, 7);
    ck_assert_int_eq(hpcb_text_u64("18446744073709551615", UINT64_MAX, &value), 0);
    ck_assert(value == UINT64_MAX);
    ck_assert_int_eq(hpcb_text_u64("007", 7, &value), 0);
    ck_assert_uint_eq(value, 7);
}
END_TEST

START_TEST(numbers_keep_their_limit)
{
    static const uint64_t limits[] = {0, 1, 6, 9, 10, 99, 100, UINT32_MAX};
    char text[32];
    uint64_t value;

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        snprintf(text, sizeof(text), "%llu", (unsigned long long)limits[i]);
        ck_assert_int_eq(hpcb_text_u64(text, limits[i], &value), 0);
        ck_assert(value == limits[i]);
        snprintf(text, sizeof(text), "%llu", (unsigned long long)limits[i] + 1);
        ck_assert_int_eq(hpcb_text_u64(text, limits[i], &value), -1);
    }
}
END_TEST

START_TEST(decimals_ignore_the_locale)
{
    hpcb_decimal_t value;
    const char *rest;

    if (!comma_enter())
        return;
    rest = hpcb_text_decimal("1.5G", &value);
    ck_assert_str_eq(rest, "G");
    ck_assert_uint_eq(value.whole, 1);
    ck_assert_uint_eq(value.millionths, 500000);
    rest = hpcb_text_decimal("1,5", &value);
    ck_assert_str_eq(rest, ",5");
    ck_assert_uint_eq(value.millionths, 0);
    comma_leave();
}
END_TEST

START_TEST(decimals_refuse_half_numbers)
{
    static const char *const bad[] = {"",
                                      ".5",
                                      "1.",
                                      "-1",
                                      "+1",
                                      "x",
                                      "1.x",
                                      "inf",
                                      " 1",
                                      "0.1234567",
                                      "18446744073709551616"};
    hpcb_decimal_t value = {3, 4};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(!hpcb_text_decimal(bad[i], &value), "%s", bad[i]);
    ck_assert_uint_eq(value.whole, 3);
    ck_assert_uint_eq(value.millionths, 4);
    ck_assert_str_eq(hpcb_text_decimal("0.000001", &value), "");
    ck_assert_uint_eq(value.millionths, 1);
}
END_TEST

START_TEST(scaling_does_not_overflow)
{
    const uint64_t tera = UINT64_C(1) << 40, max = UINT64_C(1) << 60;
    hpcb_decimal_t value = {UINT64_C(1) << 20, 0};
    uint64_t product = 5;

    ck_assert_int_eq(hpcb_decimal_scale(&value, tera, max, &product), 0);
    ck_assert(product == max);
    value.millionths = 1;
    product = 5;
    ck_assert_int_eq(hpcb_decimal_scale(&value, tera, max, &product), -1);
    value = (hpcb_decimal_t){UINT64_MAX, 999999};
    ck_assert_int_eq(hpcb_decimal_scale(&value, tera, max, &product), -1);
    ck_assert_int_eq(hpcb_decimal_scale(&value, 1, UINT64_MAX, &product), 0);
    ck_assert(product == UINT64_MAX);
    value = (hpcb_decimal_t){0, 999999};
    ck_assert_int_eq(hpcb_decimal_scale(&value, tera, max, &product), 0);
    ck_assert(product == UINT64_C(1099510528264));
}
END_TEST

START_TEST(sizes_have_one_suffix)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"1", 1},
        {"0.000001T", 1099511},
        {"1.5k", 1536},
        {"1K", 1024},
        {"2m", UINT64_C(2) << 20},
        {"12G", UINT64_C(12) << 30},
        {"1t", UINT64_C(1) << 40},
        {"18446744073709551615", UINT64_MAX},
    };
    static const char *const bad[] = {
        "",    "0",  "0.0",   "0.4",   "K",   "1KB",  "1 K", "1P",
        "-1K", "+1", "0x10K", "1.5.5", "1e3", "1,5K", ".5G", "18446744073709551616"};
    uint64_t bytes;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        ck_assert_msg(hpcb_text_size(good[i].text, UINT64_MAX, &bytes) == 0, "%s",
                      good[i].text);
        ck_assert_msg(bytes == good[i].bytes, "%s", good[i].text);
    }
    bytes = 7;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(hpcb_text_size(bad[i], UINT64_MAX, &bytes) == -1, "%s", bad[i]);
    ck_assert_int_eq(hpcb_text_size("1K", 1023, &bytes), -1);
    ck_assert(bytes == 7);
    ck_assert_int_eq(hpcb_text_size("1K", 1024, &bytes), 0);
}
END_TEST

START_TEST(names_are_safe_as_file_names)
{
    static const char *const bad[] = {"",         ".",   "..",  "a/b", "a b",     "a\n",
                                      "\xc3\xa4", "a:b", "a,b", "a=b", "12345678"};
    static const char *const good[] = {"a", "...", ".a", "A-b_c.9", "1234567"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(!hpcb_text_is_name(bad[i], 8), "%s", bad[i]);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ck_assert_msg(hpcb_text_is_name(good[i], 8), "%s", good[i]);
}
END_TEST

START_TEST(cleaning_leaves_letters_alone)
{
    char text[] = "a\tb\nc\x1b[31m\x7f \xc3\xa4 \xc2\x9b"
                  "1m \xc2\xa0";
    char cut[] = "\xc2";

    ck_assert_str_eq(hpcb_text_clean(text), "a?b?c?[31m? \xc3\xa4 ??1m \xc2\xa0");
    ck_assert_str_eq(hpcb_text_clean(cut), "\xc2");
}
END_TEST

START_TEST(copy_is_whole_or_nothing)
{
    char buf[4] = "old";

    ck_assert_int_eq(hpcb_text_copy(buf, sizeof(buf), "four"), -1);
    ck_assert_str_eq(buf, "old");
    ck_assert_int_eq(hpcb_text_copy(buf, sizeof(buf), "new"), 0);
    ck_assert_str_eq(buf, "new");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tc = tcase_create("text");

    tcase_add_test(tc, numbers_are_digits_only);
    tcase_add_test(tc, numbers_keep_their_limit);
    tcase_add_test(tc, decimals_ignore_the_locale);
    tcase_add_test(tc, decimals_refuse_half_numbers);
    tcase_add_test(tc, scaling_does_not_overflow);
    tcase_add_test(tc, sizes_have_one_suffix);
    tcase_add_test(tc, names_are_safe_as_file_names);
    tcase_add_test(tc, cleaning_leaves_letters_alone);
    tcase_add_test(tc, copy_is_whole_or_nothing);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
