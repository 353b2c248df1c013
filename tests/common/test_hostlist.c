/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/hostlist.h"

static char joined[4096];

static int join(const char *host, void *arg)
{
    (void)arg;
    if (strlen(joined) + strlen(host) + 2 < sizeof(joined))
        strcat(strcat(joined, host), " ");
    return 0;
}

static int count(const char *host, void *arg)
{
    (void)host;
    ++*(unsigned *)arg;
    return 0;
}

static const struct {
    const char *list, *hosts;
} good[] = {
    {"n1", "n1 "},
    {"n[1-3,07],login", "n1 n2 n3 n07 login "},
    {"n[08-11]", "n08 n09 n10 n11 "},
    {"r[1-2]n[3-4]x", "r1n3x r1n4x r2n3x r2n4x "},
    {"n1,", "n1 "},
    {"", ""},
};

START_TEST(test_good_lists)
{
    joined[0] = '\0';
    ck_assert_int_ge(hpcb_hostlist_each(good[_i].list, join, NULL), 0);
    ck_assert_str_eq(joined, good[_i].hosts);
}
END_TEST

static const char *const bad[] = {
    "n[",
    "n]",
    "n[1",
    "n[]",
    "n[1-]",
    "n[-1]",
    "n[3-1]",
    "n[1,]",
    "n[1,,2]",
    "n[a-b]",
    "n[[1-2]]",
    "n[1-2[3-4]]",
    "n[1-99999999]",
    "n[1-9999999999]",
    "n]x[1]",
    "n[1]]",
    ",n1",
    "n1,,n2",
    "n[ 1-2]",
    "a[1]b[1]c[1]d[1]e[1]",
    "a[1-999]b[1-999]",
    "n[0x1]",
    "n[1-2-3]",
    "n[1-2",
    "[",
    "]",
    "n[+1]",
};

START_TEST(test_malformed_lists)
{
    unsigned seen = 0;

    ck_assert_int_eq(hpcb_hostlist_each(bad[_i], count, &seen), -1);
    ck_assert_uint_le(seen, HPCB_HOSTS_MAX);
    ck_assert_int_eq(hpcb_hostlist_index(bad[_i], "none"), -1);
    ck_assert_int_eq(hpcb_hostlist_compare(bad[_i], "n7"), HPCB_HOSTS_OVERLAP);
    ck_assert_int_eq(hpcb_hostlist_compare("n7", bad[_i]), HPCB_HOSTS_OVERLAP);
}
END_TEST

START_TEST(test_size_limits)
{
    char list[70000];
    unsigned seen = 0;

    ck_assert_int_eq(hpcb_hostlist_each("n[1-65536]", count, &seen), HPCB_HOSTS_MAX);
    ck_assert_int_eq(hpcb_hostlist_each("n[0-65536]", count, &seen), -1);
    ck_assert_int_eq(hpcb_hostlist_compare("n[1-65536]", "n[01-02],n[1-65536]"),
                     HPCB_HOSTS_OVERLAP);
    memset(list, 'n', sizeof(list));
    list[255] = '\0';
    ck_assert_int_eq(hpcb_hostlist_each(list, count, &seen), 1);
    list[255] = 'n';
    list[256] = '\0';
    ck_assert_int_eq(hpcb_hostlist_each(list, count, &seen), -1);
    list[256] = 'n';
    list[sizeof(list) - 1] = '\0';
    ck_assert_int_eq(hpcb_hostlist_each(list, count, &seen), -1);
    memset(list, '[', sizeof(list) - 1);
    ck_assert_int_eq(hpcb_hostlist_each(list, count, &seen), -1);
    memcpy(list + 250, "[1-1000000]", 11);
    ck_assert_int_eq(hpcb_hostlist_each(list, count, &seen), -1);
}
END_TEST

START_TEST(test_binary_list)
{
    char list[256];

    for (int i = 0; i < 255; i++)
        list[i] = (char)(i + 1);
    list[255] = '\0';
    ck_assert_int_eq(hpcb_hostlist_index(list, "n1"), -1);
    ck_assert_int_eq(hpcb_hostlist_compare(list, "n1"), HPCB_HOSTS_OVERLAP);
}
END_TEST

START_TEST(test_index)
{
    ck_assert_int_eq(hpcb_hostlist_index("a,n[1-3]", "a"), 0);
    ck_assert_int_eq(hpcb_hostlist_index("a,n[1-3]", "n3"), 3);
    ck_assert_int_eq(hpcb_hostlist_index("a,n[1-3]", "n"), -1);
    ck_assert_int_eq(hpcb_hostlist_index("", "n"), -1);
}
END_TEST

START_TEST(test_compare)
{
    ck_assert_int_eq(hpcb_hostlist_compare("n[1-3]", "n3,n1,n2"), HPCB_HOSTS_SAME);
    ck_assert_int_eq(hpcb_hostlist_compare("n[1-3]", "n[3-4]"), HPCB_HOSTS_OVERLAP);
    ck_assert_int_eq(hpcb_hostlist_compare("n[1-3]", "n[4-9]"), HPCB_HOSTS_APART);
    ck_assert_int_eq(hpcb_hostlist_compare("n01", "n1"), HPCB_HOSTS_APART);
    ck_assert_int_eq(hpcb_hostlist_compare("", "n1"), HPCB_HOSTS_APART);
}
END_TEST

static const struct {
    const char *text;
    unsigned index, count;
} counts[] = {
    {"4", 0, 4},
    {"4", 1, 0},
    {"2(x3),1", 0, 2},
    {"2(x3),1", 2, 2},
    {"2(x3),1", 3, 1},
    {"2(x3),1", 4, 0},
    {"", 0, 0},
    {"x", 0, 0},
    {",2", 0, 0},
    {"2(x3,1", 0, 0},
    {"2(x3", 3, 0},
    {"2(x),1", 0, 0},
    {"2(3),1", 1, 0},
    {"2(x3)1", 3, 0},
    {"2(x3);1", 3, 0},
    {"-2", 0, 0},
    {"9999999999", 0, 0},
    {"2(x9999999999),1", 0, 0},
    {"2(x0),1", 0, 1},
    {"2(x3),", 3, 0},
    {" 2", 0, 0},
    {"2(x-1),1", 0, 0},
    {"\xff\x01", 0, 0},
    {"999999999(x999999999)", 4000000, 999999999},
    {"1,2", 4294967295u, 0},
};

START_TEST(test_counts)
{
    ck_assert_uint_eq(hpcb_count_of_node(counts[_i].text, counts[_i].index),
                      counts[_i].count);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
    Suite *suite = suite_create("hostlist");
    TCase *tcase = tcase_create("hostlist");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, test_good_lists, 0, ROWS(good));
    tcase_add_loop_test(tcase, test_malformed_lists, 0, ROWS(bad));
    tcase_add_test(tcase, test_size_limits);
    tcase_add_test(tcase, test_binary_list);
    tcase_add_test(tcase, test_index);
    tcase_add_test(tcase, test_compare);
    tcase_add_loop_test(tcase, test_counts, 0, ROWS(counts));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
