/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hpcbctl/check/plugstack.h"
#include "tests/common/tmp.h"

static char dir[TEST_TMP_MAX];
static char path[TEST_TMP_MAX + 16];

static void set_up(void)
{
    test_tmp_dir(dir);
    snprintf(path, sizeof(path), "%s/plugstack.conf", dir);
}

static void tear_down(void)
{
    static const char *const names[] = {"plugstack.conf", "a.conf", "b.conf"};
    char name[TEST_TMP_MAX + 64];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
        unlink(name);
    }
    rmdir(path);
    rmdir(dir);
}

static void write_bytes(const char *file, const void *bytes, size_t size)
{
    char name[TEST_TMP_MAX + 64];
    FILE *stream;

    snprintf(name, sizeof(name), "%s/%s", dir, file);
    stream = fopen(name, "w");
    ck_assert_ptr_nonnull(stream);
    ck_assert_uint_eq(fwrite(bytes, 1, size, stream), size);
    ck_assert_int_eq(fclose(stream), 0);
}

static void write_text(const char *file, const char *text)
{
    write_bytes(file, text, strlen(text));
}

static const struct {
    const char *text;
    int result;
    unsigned line;
} rows[] = {
    {"optional hpc_balance.so\n", 1, 1},
    {"# optional hpc_balance.so\n\n  required\t/x/hpc_balance.so conf=/y", 1, 3},
    {"optional hpc_balance.so# no blank\n", 1, 1},
    {"optional other.so\noptional hpc_balance.so\noptional hpc_balance.so\n", 1, 2},
    {"", 0, 0},
    {"optional\n", 0, 0},
    {"include\n", 0, 0},
    {"optional xhpc_balance.so\noptional hpc_balance.so.1\n", 0, 0},
    {"optional /x/hpc_balance.so/\n", 0, 0},
    {"sometimes hpc_balance.so\n", 0, 0},
    {"optional #hpc_balance.so\n", 0, 0},
    {"include /none/at/all\ninclude [\ninclude ../../../*/none\n", 0, 0},
    {"include plugstack.conf\n", 0, 0},
    {"\xff\xfe\x01\n", 0, 0},
};

START_TEST(test_rows)
{
    hpcb_plugstack_line_t line = {.line = 0};
    hpcb_error_t err;

    write_text("plugstack.conf", rows[_i].text);
    ck_assert_int_eq(hpcb_plugstack_find(path, &line, &err), rows[_i].result);
    ck_assert_uint_eq(line.line, rows[_i].line);
}
END_TEST

START_TEST(test_what_is_found)
{
    hpcb_plugstack_line_t line;
    hpcb_error_t err;

    write_text("plugstack.conf", "\nrequired /x/hpc_balance.so\n");
    ck_assert_int_eq(hpcb_plugstack_find(path, &line, &err), 1);
    ck_assert(line.required);
    ck_assert_str_eq(line.plugin, "/x/hpc_balance.so");
    ck_assert_str_eq(line.file, path);
}
END_TEST

START_TEST(test_includes)
{
    hpcb_plugstack_line_t line;
    char expected[TEST_TMP_MAX + 16];
    hpcb_error_t err;

    write_text("plugstack.conf", "include none.conf\ninclude [ab].conf\n");
    write_text("a.conf", "optional other.so\n");
    write_text("b.conf", "#\noptional hpc_balance.so\n");
    ck_assert_int_eq(hpcb_plugstack_find(path, &line, &err), 1);
    snprintf(expected, sizeof(expected), "%s/b.conf", dir);
    ck_assert_str_eq(line.file, expected);
    ck_assert_uint_eq(line.line, 2);
    ck_assert(!line.required);
}
END_TEST

START_TEST(test_loop_of_includes)
{
    hpcb_plugstack_line_t line;
    hpcb_error_t err;

    write_text("plugstack.conf", "include *.conf\ninclude *.conf\n");
    write_text("a.conf", "include *.conf\n");
    write_text("b.conf", "include a.conf\n");
    ck_assert_int_eq(hpcb_plugstack_find(path, &line, &err), 0);
}
END_TEST

START_TEST(test_hostile_files)
{
    static char bytes[300000];
    hpcb_plugstack_line_t line;
    hpcb_error_t err = {""};

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 31 + i / 256);
    write_bytes("plugstack.conf", bytes, sizeof(bytes));
    ck_assert_int_eq(hpcb_plugstack_find(path, &line, &err), 0);
    memset(bytes, 'a', sizeof(bytes));
    memcpy(bytes, "optional ", 9);
    write_bytes("plugstack.conf", bytes, sizeof(bytes));
    ck_assert_int_eq(hpcb_plugstack_find(path, &line, &err), 0);
    memcpy(bytes, "include  ", 9);
    write_bytes("plugstack.conf", bytes, sizeof(bytes));
    ck_assert_int_eq(hpcb_plugstack_find(path, &line, &err), 0);
    memset(bytes, '\n', sizeof(bytes));
    write_bytes("plugstack.conf", bytes, sizeof(bytes));
    ck_assert_int_eq(hpcb_plugstack_find(path, &line, &err), 0);
    ck_assert_str_eq(err.text, "");
}
END_TEST

START_TEST(test_what_cannot_be_read)
{
    hpcb_plugstack_line_t line;
    hpcb_error_t err = {""};

    ck_assert_int_eq(hpcb_plugstack_find(path, &line, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, path));
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(hpcb_plugstack_find(path, &line, &err), -1);
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(hpcb_plugstack_find(path, &line, NULL), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugstack");
    TCase *tcase = tcase_create("plugstack");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, test_rows, 0, (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(tcase, test_what_is_found);
    tcase_add_test(tcase, test_includes);
    tcase_add_test(tcase, test_loop_of_includes);
    tcase_add_test(tcase, test_hostile_files);
    tcase_add_test(tcase, test_what_cannot_be_read);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
