/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Bad company: on the wire, and in the collector's file. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/file.h"
#include "hpcbd/collector/company.h"
#include "hpcbd/records/wire.h"
#include "hpcbd/records/wire_company.h"
#include "hpcbd/records/wire_live.h"
#include "tests/common/scratch.h"

static hpcb_company_t table;
static hpcbd_company_t *company;

static hpcb_company_pair_t seen(uint64_t guest, int64_t time)
{
    return (hpcb_company_pair_t){.primary = 10,
                                 .guest = guest,
                                 .primary_uid = 1,
                                 .guest_uid = 2,
                                 .time = time,
                                 .weight = HPCB_COMPANY_ONE};
}

static char *report(hpcb_company_pair_t pair)
{
    char *text;

    table.count = 0;
    ck_assert(hpcb_company_add(&table, &pair));
    text = hpcbd_company_report(&table, NULL);
    ck_assert_ptr_nonnull(text);
    return text;
}

static void take(hpcb_company_pair_t pair)
{
    char *text = report(pair);

    ck_assert_int_eq(hpcbd_company_take(company, text), 0);
    free(text);
}

static void begin(void)
{
    hpcb_error_t err;

    company = hpcbd_company_open(scratch_dir(), &err);
    ck_assert_msg(company != NULL, "%s", err.text);
}

/* What the select plugin reads. */
static void read_file(void)
{
    static char text[HPCB_COMPANY_TEXT_MAX];

    ck_assert_int_gt(
        hpcb_file_read_trusted(scratch(HPCB_COMPANY_FILE), text, sizeof(text), NULL),
        0);
    ck_assert_int_eq(hpcb_company_parse(&table, text), 0);
}

START_TEST(a_report_is_read_back)
{
    char *text = report(seen(20, 1000));

    ck_assert(hpcbd_company_is_report(text));
    ck_assert(!hpcbd_live_is_report(text));
    ck_assert(
        !hpcbd_company_is_report("{\"version\":1,\"type\":\"live\",\"node\":{}}"));
    table.count = 0;
    ck_assert_int_eq(hpcbd_company_read(text, &table), 0);
    ck_assert_uint_eq(table.count, 1);
    ck_assert_uint_eq(table.pairs[0].guest, 20);
    free(text);
}
END_TEST

START_TEST(a_full_table_fits_a_frame)
{
    hpcb_company_pair_t pair;
    char *text;

    table.count = 0;
    for (uint32_t i = 0; i < HPCB_COMPANY_MAX; i++) {
        pair = (hpcb_company_pair_t){UINT64_MAX - i, UINT64_MAX,    UINT32_MAX - i,
                                     UINT32_MAX - i, INT64_MAX / 2, UINT32_MAX};
        ck_assert(hpcb_company_add(&table, &pair));
    }
    text = hpcbd_company_report(&table, NULL);
    ck_assert_uint_lt(strlen(text), HPCBD_BATCH_BYTES);
    free(text);
}
END_TEST

START_TEST(other_messages_are_refused)
{
    static const char *const others[] = {
        "",
        "{\"version\":1,\"type\":\"company\"}",
        "{\"version\":1,\"type\":\"company\",\"pairs\":1}",
        "{\"version\":1,\"type\":\"company\",\"pairs\":\"\"}",
        "{\"version\":2,\"type\":\"company\",\"pairs\":\"hpcb-company 1\\n\"}",
        "{\"version\":1,\"type\":\"live\",\"pairs\":\"hpcb-company 1\\n\"}",
        "{\"version\":1,\"type\":\"company\",\"pairs\":\"hpcb-company 1\\n1 2\\n\"}",
    };

    begin();
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert_msg(hpcbd_company_take(company, others[i]) < 0, "%zu", i);
    ck_assert_int_eq(count_entries(scratch_dir()), 0);
    hpcbd_company_close(company);
}
END_TEST

START_TEST(what_is_new_is_in_the_file)
{
    int64_t now = (int64_t)time(NULL);

    begin();
    take(seen(20, now - 10));
    read_file();
    ck_assert_uint_eq(table.count, 1);
    take(seen(21, now - 10));
    /* Another collector goes on from there. */
    hpcbd_company_close(company);
    begin();
    take(seen(22, now - 10));
    read_file();
    ck_assert_uint_eq(table.count, 3);
    hpcbd_company_close(company);
}
END_TEST

/* Nodes repeat themselves: nothing is written for that. */
START_TEST(what_is_known_is_not_written)
{
    int64_t now = (int64_t)time(NULL);

    begin();
    take(seen(20, now - 10));
    ck_assert_int_eq(remove(scratch(HPCB_COMPANY_FILE)), 0);
    take(seen(20, now - 10));
    ck_assert_int_eq(count_entries(scratch_dir()), 0);
    hpcbd_company_close(company);
}
END_TEST

START_TEST(nodes_cannot_exaggerate)
{
    int64_t now = (int64_t)time(NULL);
    hpcb_company_pair_t pair = seen(20, now + 60);

    begin();
    pair.weight = HPCB_COMPANY_WEIGHT_MAX;
    take(pair);
    /* By another clock altogether: it would be news each time that it is reported. */
    take(seen(21, now + 1000000));
    read_file();
    ck_assert_uint_eq(table.count, 1);
    ck_assert_int_le(table.pairs[0].time, (int64_t)time(NULL));
    ck_assert_uint_eq(table.pairs[0].weight, HPCB_COMPANY_ONE);
    hpcbd_company_close(company);
}
END_TEST

START_TEST(what_is_old_goes)
{
    int64_t now = (int64_t)time(NULL);

    begin();
    take(seen(20, now - 10 * HPCB_COMPANY_HALF));
    take(seen(21, now));
    read_file();
    ck_assert_uint_eq(table.count, 1);
    ck_assert_uint_eq(table.pairs[0].guest, 21);
    hpcbd_company_close(company);
}
END_TEST

START_TEST(another_file_is_replaced)
{
    put_file(scratch(HPCB_COMPANY_FILE), "hpcb-company 1\n1 2 3\n");
    begin();
    take(seen(20, (int64_t)time(NULL)));
    read_file();
    ck_assert_uint_eq(table.count, 1);
    hpcbd_company_close(company);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("company");
    TCase *tc = scratch_case("company");

    tcase_add_test(tc, a_report_is_read_back);
    tcase_add_test(tc, a_full_table_fits_a_frame);
    tcase_add_test(tc, other_messages_are_refused);
    tcase_add_test(tc, what_is_new_is_in_the_file);
    tcase_add_test(tc, what_is_known_is_not_written);
    tcase_add_test(tc, nodes_cannot_exaggerate);
    tcase_add_test(tc, what_is_old_goes);
    tcase_add_test(tc, another_file_is_replaced);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
