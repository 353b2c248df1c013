/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hpcbctl/slurm.h"
#include "hpcbctl/scontrol.h"

START_TEST(test_config)
{
    hpcb_table_t table;

    ck_assert_int_eq(hpcb_table_parse_config("Configuration data as of today\n"
                                             "SelectType   = select/cons_tres \r\n"
                                             "Prolog[0]    = /a\n"
                                             "Prolog[1]    = /b\n"
                                             "Empty        = \n"
                                             "Null         = (null)\n"
                                             "= nothing\n"
                                             "two words = x\n"
                                             "Seconds = 20 sec\n"
                                             "Mail = a=b",
                                             &table),
                     0);
    ck_assert_uint_eq(table.count, 7);
    ck_assert_str_eq(hpcb_table_get(&table, "selecttype"), "select/cons_tres");
    ck_assert_str_eq(hpcb_table_get(&table, "Prolog"), "/a");
    ck_assert_str_eq(hpcb_table_get(&table, "Empty"), "");
    ck_assert_str_eq(hpcb_table_get(&table, "Null"), "");
    ck_assert_str_eq(hpcb_table_get(&table, "Mail"), "a=b");
    ck_assert_ptr_null(hpcb_table_get(&table, "Select"));
    ck_assert_str_eq(hpcb_table_text(&table, "Select"), "");
    ck_assert_uint_eq(hpcb_table_number(&table, "Seconds", 7), 20);
    ck_assert_uint_eq(hpcb_table_number(&table, "Mail", 7), 7);
    hpcb_table_free(&table);
    hpcb_table_free(&table);
}
END_TEST

START_TEST(test_line)
{
    hpcb_table_t table;

    ck_assert_int_eq(hpcb_table_parse_line(
                         "  stray A=1 OS=Linux 6.1 #1 SMP  B==2 C= =x D\nE=1", &table),
                     0);
    ck_assert_uint_eq(table.count, 4);
    ck_assert_str_eq(hpcb_table_get(&table, "A"), "1");
    ck_assert_str_eq(hpcb_table_get(&table, "OS"), "Linux 6.1 #1 SMP");
    ck_assert_str_eq(hpcb_table_get(&table, "B"), "=2");
    ck_assert_str_eq(hpcb_table_get(&table, "C"), "=x D");
    ck_assert_ptr_null(hpcb_table_get(&table, "E"));
    hpcb_table_free(&table);
}
END_TEST

static const char *const junk[] = {
    "",
    "\n",
    "=",
    "==",
    " = ",
    "=\n=\n",
    "no equals at all",
    "[0]=x",
    "  \t\r\n",
    "\x01\x02\xff=\xfe",
    "A",
    "A=",
    "=A",
    "\n\n\n=A",
    "A =\n B",
    "          ",
};

START_TEST(test_junk)
{
    hpcb_slurm_t slurm;
    hpcb_table_t table;
    hpcb_error_t err = {""};

    ck_assert_int_eq(hpcb_table_parse_config(junk[_i], &table), 0);
    ck_assert_ptr_null(hpcb_table_get(&table, "SelectType"));
    hpcb_table_free(&table);
    ck_assert_int_eq(hpcb_table_parse_line(junk[_i], &table), 0);
    hpcb_table_free(&table);
    ck_assert_int_eq(hpcb_slurm_parse(junk[_i], junk[_i], junk[_i], &slurm, &err), -1);
    ck_assert_str_ne(err.text, "");
    hpcb_slurm_free(&slurm);
    ck_assert_int_eq(
        hpcb_slurm_parse("SelectType = x\n", junk[_i], junk[_i], &slurm, &err), 0);
    ck_assert_uint_eq(slurm.n_partitions, 0);
    ck_assert(!slurm.node_known);
    hpcb_slurm_free(&slurm);
}
END_TEST

START_TEST(test_overlong)
{
    size_t size = 1 << 20;
    char *text = malloc(size + 1);
    hpcb_table_t table;

    ck_assert_ptr_nonnull(text);
    memset(text, 'x', size);
    text[size] = '\0';
    memcpy(text, "A=", 2);
    ck_assert_int_eq(hpcb_table_parse_line(text, &table), 0);
    ck_assert_uint_eq(strlen(hpcb_table_get(&table, "A")), size - 2);
    hpcb_table_free(&table);
    for (size_t i = 0; i + 4 <= size; i += 4)
        memcpy(text + i, "K=v ", 4);
    ck_assert_int_eq(hpcb_table_parse_line(text, &table), 0);
    ck_assert_uint_eq(table.count, size / 4);
    hpcb_table_free(&table);
    free(text);
}
END_TEST

START_TEST(test_numbers)
{
    hpcb_table_t table;

    hpcb_table_parse_line("A=18446744073709551616 B=-1 C=0x10 D=1G E= F=UNLIMITED",
                          &table);
    ck_assert_uint_eq(hpcb_table_number(&table, "A", 7), UINT64_MAX);
    ck_assert_uint_eq(hpcb_table_number(&table, "B", 7), 7);
    ck_assert_uint_eq(hpcb_table_number(&table, "C", 7), 0);
    ck_assert_uint_eq(hpcb_table_number(&table, "D", 7), 1);
    ck_assert_uint_eq(hpcb_table_number(&table, "E", 7), 7);
    ck_assert_uint_eq(hpcb_table_number(&table, "F", 7), 7);
    hpcb_table_free(&table);
}
END_TEST

START_TEST(test_lists)
{
    char value[8] = "";

    ck_assert(hpcb_list_has("Alloc,Contain", "contain"));
    ck_assert(!hpcb_list_has("Allocate", "Alloc"));
    ck_assert(!hpcb_list_has("", "Alloc"));
    ck_assert(!hpcb_list_has(",,,", "Alloc"));
    ck_assert(hpcb_list_value("a=1, key=22,b", "KEY", value, sizeof(value)));
    ck_assert_str_eq(value, "22");
    ck_assert(!hpcb_list_value("xkey=1,keys=2,key", "key", value, sizeof(value)));
    ck_assert(!hpcb_list_value("key=12345678", "key", value, sizeof(value)));
    ck_assert(hpcb_list_value("key=", "key", value, sizeof(value)));
    ck_assert_str_eq(value, "");
}
END_TEST

static const struct {
    const char *text;
    uint64_t threshold;
} thresholds[] = {
    {"QOS=a(1)\n MinPrioThresh=5 \nQOS=guest(2)\n MinPrioThresh=1000\n", 1000},
    {"QOS=guest(2)\n MinPrioThresh= \nQOS=a(1)\n MinPrioThresh=5\n", UINT64_MAX},
    {"QOS=guest(2)\n x\nQOS=a(1)\n MinPrioThresh=5\n", UINT64_MAX},
    {"QOS=guests(2)\n MinPrioThresh=5\n", UINT64_MAX},
    {"QOS=guest(", UINT64_MAX},
    {"QOS=guest(MinPrioThresh=", UINT64_MAX},
    {"\xff\x01=", UINT64_MAX},
    {"", UINT64_MAX},
};

START_TEST(test_threshold)
{
    ck_assert_uint_eq(hpcb_slurm_parse_threshold(thresholds[_i].text, "guest"),
                      thresholds[_i].threshold);
}
END_TEST

static const struct {
    const char *text;
    double factor;
} factors[] = {
    {"0.000000\n", 0}, {"1.5\n", 1.5},      {"0", 0},   {"", -1},
    {"\n", -1},        {"UsageFactor", -1}, {"0x", -1}, {"-1.0\n", -1},
};

START_TEST(test_usage_factor)
{
    ck_assert_double_eq(hpcb_slurm_parse_factor(factors[_i].text), factors[_i].factor);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
    Suite *suite = suite_create("table");
    TCase *tcase = tcase_create("table");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_config);
    tcase_add_test(tcase, test_line);
    tcase_add_loop_test(tcase, test_junk, 0, ROWS(junk));
    tcase_add_test(tcase, test_overlong);
    tcase_add_test(tcase, test_numbers);
    tcase_add_test(tcase, test_lists);
    tcase_add_loop_test(tcase, test_threshold, 0, ROWS(thresholds));
    tcase_add_loop_test(tcase, test_usage_factor, 0, ROWS(factors));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
