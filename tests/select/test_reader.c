/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The thread that reads what nodes report, with a disk that answers when the test lets
 * it. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "select/reader.h"

#define LONG_MS 400 /* for what is waited for up to 100 ms */

static char dir[64];
static hpcb_live_t live;
static hpcb_error_t err;

/* fstat of this process waits while the gate is closed. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

int fstat(int fd, struct stat *st);
int fstat(int fd, struct stat *st)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return (int)syscall(SYS_fstat, fd, st);
}

static long ms_of_a_look(int *status)
{
    struct timespec from, to;

    clock_gettime(CLOCK_MONOTONIC, &from);
    *status = hpcb_reader_look(&live, &err);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
}

/* Until the look says so, as it does soon. */
static void look_until(int wanted)
{
    int status = hpcb_reader_look(&live, &err);

    for (int i = 0; i < 1000 && status != wanted; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        status = hpcb_reader_look(&live, &err);
    }
    ck_assert_int_eq(status, wanted);
}

static void report(const char *where, const char *node)
{
    hpcb_live_node_t one = {.time = 1};
    hpcb_live_table_t *table = hpcb_live_table_new();

    snprintf(one.name, sizeof(one.name), "%s", node);
    ck_assert_int_eq(hpcb_live_put(table, &one), 0);
    ck_assert_int_eq(hpcb_live_write(table, where, &err), 0);
    hpcb_live_table_free(table);
}

static void setup(void)
{
    snprintf(dir, sizeof(dir), "/tmp/hpcb-test-reader.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    hpcb_reader_follow(dir);
}

static void remove_dir(const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/" HPCB_LIVE_FILE, name);
    unlink(path);
    rmdir(name);
}

static void remove_company(void)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/" HPCB_COMPANY_FILE, dir);
    unlink(path);
}

static void teardown(void)
{
    hpcb_live_clear(&live);
    remove_company();
    remove_dir(dir);
}

START_TEST(a_file_is_new_once)
{
    report(dir, "n1");
    look_until(1);
    ck_assert_uint_eq(live.n_nodes, 1);
    ck_assert_str_eq(live.nodes[0].name, "n1");
    look_until(0);
    ck_assert_uint_eq(live.n_nodes, 1);
    report(dir, "n2");
    look_until(1);
    ck_assert_str_eq(live.nodes[0].name, "n2");
}
END_TEST

START_TEST(no_file_is_said)
{
    look_until(-1);
    ck_assert_int_eq(errno, ENOENT);
    report(dir, "n1");
    look_until(1);
}
END_TEST

START_TEST(another_directory_is_read_anew)
{
    char other[] = "/tmp/hpcb-test-reader.XXXXXX";

    report(dir, "n1");
    look_until(1);
    ck_assert_ptr_nonnull(mkdtemp(other));
    report(other, "n2");
    hpcb_reader_follow(other);
    look_until(1);
    ck_assert_str_eq(live.nodes[0].name, "n2");
    hpcb_reader_follow(dir);
    look_until(1);
    ck_assert_str_eq(live.nodes[0].name, "n1");
    remove_dir(other);
}
END_TEST

/* It is waited for once; what it read comes later. */
START_TEST(a_disk_that_hangs_holds_nobody_up)
{
    int status;

    report(dir, "n1");
    look_until(1);
    report(dir, "n2");
    pthread_mutex_lock(&gate);
    ck_assert_int_lt(ms_of_a_look(&status), LONG_MS);
    ck_assert_int_eq(status, 0);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_lt(ms_of_a_look(&status), 50);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_str_eq(live.nodes[0].name, "n1");
    pthread_mutex_unlock(&gate);
    look_until(1);
    ck_assert_str_eq(live.nodes[0].name, "n2");
}
END_TEST

static void put_company(const char *text)
{
    char path[128], next[128 + 5];
    FILE *stream;

    snprintf(path, sizeof(path), "%s/" HPCB_COMPANY_FILE, dir);
    snprintf(next, sizeof(next), "%s.new", path);
    stream = fopen(next, "w");
    ck_assert_ptr_nonnull(stream);
    fputs(text, stream);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_int_eq(rename(next, path), 0);
}

/* Until there is news of bad company, as there is soon. */
static void company_until_new(hpcb_company_t **company)
{
    int status = 0;

    for (int i = 0; i < 1000 && !status; i++) {
        (void)hpcb_reader_look(&live, &err);
        status = hpcb_reader_company(company, &err);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    ck_assert_int_eq(status, 1);
}

START_TEST(bad_company_is_new_once)
{
    hpcb_company_t *company = NULL;

    put_company("hpcb-company 1\n1 2 3 4 5 6\n");
    /* What there was of another test's directory. */
    do
        company_until_new(&company);
    while (!company);
    ck_assert_uint_eq(company->count, 1);
    ck_assert_uint_eq(company->pairs[0].guest, 2);
    look_until(-1);
    ck_assert_int_eq(hpcb_reader_company(&company, &err), 0);
    ck_assert_uint_eq(company->count, 1);
    put_company("nonsense");
    company_until_new(&company);
    ck_assert_ptr_null(company);
    ck_assert_ptr_nonnull(strstr(err.text, "not a list of bad company"));
    put_company("hpcb-company 1\n");
    company_until_new(&company);
    ck_assert_ptr_nonnull(company);
    remove_company();
    company_until_new(&company);
    ck_assert_ptr_null(company);
    ck_assert_str_eq(err.text, "");
}
END_TEST

/* What was read of the first directory does not count. */
START_TEST(a_directory_that_changes_during_a_read)
{
    char other[] = "/tmp/hpcb-test-reader.XXXXXX";
    int status;

    report(dir, "n1");
    look_until(1);
    report(dir, "n2");
    ck_assert_ptr_nonnull(mkdtemp(other));
    report(other, "n3");
    pthread_mutex_lock(&gate);
    ms_of_a_look(&status);
    hpcb_reader_follow(other);
    pthread_mutex_unlock(&gate);
    look_until(1);
    ck_assert_str_eq(live.nodes[0].name, "n3");
    remove_dir(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reader");
    TCase *tc = tcase_create("reader"), *timed = tcase_create("how long a look takes");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_file_is_new_once);
    tcase_add_test(tc, no_file_is_said);
    tcase_add_test(tc, another_directory_is_read_anew);
    tcase_add_test(tc, bad_company_is_new_once);
    tcase_add_test(tc, a_directory_that_changes_during_a_read);
    tcase_set_tags(timed, "timed");
    tcase_add_checked_fixture(timed, setup, teardown);
    tcase_add_test(timed, a_disk_that_hangs_holds_nobody_up);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, timed);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
