/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* hpc-balance.conf changes while slurmctld runs. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "jobsubmit/settings.h"
#include "tests/common/tmp.h"

static char path[TEST_TMP_MAX];
static hpcb_settings_t settings;
static unsigned errors;

static void count_errors(hpcb_log_level_t level, const char *line)
{
    (void)line;
    errors += level == HPCB_LOG_ERROR;
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void setup(void)
{
    test_tmp_file(path);
    settings = (hpcb_settings_t){.mutex = PTHREAD_MUTEX_INITIALIZER};
    errors = 0;
    hpcb_log_set_sink(count_errors);
}

static void teardown(void)
{
    unlink(path);
}

static const char *partition_at(time_t as_of)
{
    static hpcb_conf_t conf;

    hpcb_settings_get(&settings, as_of, &conf);
    return conf.guest_partition;
}

/* As in select/ and preempt/: between the two, all of slurmctld calls the same jobs
 * guests. */
START_TEST(a_changed_file_counts_when_slurmctld_is_reconfigured)
{
    write_file("GuestPartition=first\n");
    hpcb_settings_open(&settings, path, 5000);
    ck_assert_str_eq(partition_at(5000), "first");
    write_file("GuestPartition=second1\n");
    ck_assert_str_eq(partition_at(5000), "first");
    sleep(2);
    ck_assert_str_eq(partition_at(5000), "first");
    ck_assert_str_eq(partition_at(5003), "second1");
    ck_assert_str_eq(partition_at(5003), "second1");
    ck_assert_uint_eq(errors, 0);
}
END_TEST

START_TEST(a_bad_file_is_logged_once_and_changes_nothing)
{
    write_file("GuestPartition=good\n");
    hpcb_settings_open(&settings, path, 0);
    write_file("GuestPartition=\nNonsense\n");
    for (int i = 0; i < 20; i++)
        ck_assert_str_eq(partition_at(1000), "good");
    ck_assert_uint_eq(errors, 1);
    write_file("GuestPartition=better\n");
    ck_assert_str_eq(partition_at(2000), "better");
}
END_TEST

START_TEST(a_file_that_goes_and_comes)
{
    write_file("GuestPartition=there\n");
    hpcb_settings_open(&settings, path, 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_str_eq(partition_at(1000), "there");
    ck_assert_str_eq(partition_at(1000), "there");
    ck_assert_uint_eq(errors, 1);
    write_file("GuestPartition=back\n");
    ck_assert_str_eq(partition_at(3000), "back");
}
END_TEST

START_TEST(without_a_file_defaults_are_used)
{
    hpcb_conf_t defaults, conf;
    char name[PATH_MAX + 8];

    hpcb_conf_defaults(&defaults);
    hpcb_settings_get(&settings, 0, &conf); /* not opened yet */
    ck_assert_str_eq(conf.guest_partition, defaults.guest_partition);
    hpcb_settings_open(&settings, "/nonexistent/hpc-balance.conf", 0);
    ck_assert_str_eq(partition_at(0), defaults.guest_partition);
    ck_assert_uint_eq(errors, 1);
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    hpcb_settings_open(&settings, name, 0);
    ck_assert_str_eq(partition_at(0), defaults.guest_partition);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *tcase = tcase_create("settings");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_changed_file_counts_when_slurmctld_is_reconfigured);
    tcase_add_test(tcase, a_bad_file_is_logged_once_and_changes_nothing);
    tcase_add_test(tcase, a_file_that_goes_and_comes);
    tcase_add_test(tcase, without_a_file_defaults_are_used);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
