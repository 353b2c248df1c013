/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Which tasks get libhpcb_mpi.so, and what happens to what they preload themselves. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/spank/tests.h"

static char library[1024];

static void load(const char *more)
{
    char conf[2048];

    snprintf(library, sizeof(library), "%s/libhpcb_mpi.so", test_dir());
    test_write("libhpcb_mpi.so", "ELF");
    ck_assert_int_eq(chmod(library, 0644), 0);
    snprintf(conf, sizeof(conf), "MpiLibrary=%s\nYieldSpin=70\nYieldNapMax=900\n%s",
             library, more);
    test_load(conf, false);
}

static const char *preloaded(const char *const *env, const host_option_t *options)
{
    host_step_t step = {
        .job_id = 9, .uid = test_user(), .env = env, .options = options};

    host_step(&step);
    ck_assert_int_eq(step.status[0], 0);
    ck_assert_int_eq(host_failures(), 0);
    return host_getenv("LD_PRELOAD");
}

START_TEST(record_decides)
{
    static const char *const env[] = {"SLURM_JOB_PARTITION=mpi", "HPCB_CLASS=primary",
                                      "SPANK_HPCB_CLASS=primary", NULL};

    load("YieldWaits=all\n");
    test_record(9, "primary", "none", _i != 0);
    if (_i)
        ck_assert_str_eq(preloaded(env, NULL), library);
    else
        ck_assert_ptr_null(preloaded(env, NULL));
    ck_assert_str_eq(_i ? host_getenv("HPCB_YIELD_SPIN") : "70", "70");
    ck_assert_str_eq(_i ? host_getenv("HPCB_YIELD_NAP_MAX") : "900", "900");
    ck_assert_int_eq(host_log_count("error:") + host_log_count("info:"), 0);
}
END_TEST

/* A guest's record says so only where YieldWaits names the guest partition. */
START_TEST(guests)
{
    static const host_option_t options[] = {{"hpc-balance", "auto"}, {NULL, NULL}};

    load("");
    test_record(9, "guest", "none", _i != 0);
    if (_i)
        ck_assert_str_eq(preloaded(NULL, options), library);
    else
        ck_assert_ptr_null(preloaded(NULL, options));
    ck_assert_int_eq(host_log_count("user: hpc_balance: --hpc-balance has no effect: "
                                    "job 9 is a guest"),
                     1);
}
END_TEST

START_TEST(option_of_a_step)
{
    static const host_option_t options[] = {{"hpc-balance", ""}, {NULL, NULL}};

    load("");
    if (_i)
        test_record(9, "primary", "none", false);
    if (_i)
        ck_assert_str_eq(preloaded(NULL, options), library);
    else
        ck_assert_ptr_null(preloaded(NULL, options));
}
END_TEST

START_TEST(keeps_what_is_there)
{
    static const char *const olds[] = {"/lib/a.so:/lib/b.so", "/lib/a.so /lib/b.so", "",
                                       "x"};
    char variable[256], expected[2048];
    const char *env[] = {variable, "HPCB_YIELD_SPIN=5", NULL};

    load("");
    test_record(9, "primary", "auto", true);
    snprintf(variable, sizeof(variable), "LD_PRELOAD=%s", olds[_i]);
    snprintf(expected, sizeof(expected), "%s%s%s", library, *olds[_i] ? ":" : "",
             olds[_i]);
    ck_assert_str_eq(preloaded(env, NULL), expected);
    ck_assert_str_eq(host_getenv("HPCB_YIELD_SPIN"), "5");
    ck_assert_str_eq(host_getenv("HPCB_YIELD_JOB"), "9");
}
END_TEST

/* srun inside a batch script whose own environment has the library already. */
START_TEST(not_twice)
{
    static const char *const forms[] = {"%s", "%s:/lib/a.so", "/lib/a.so %s",
                                        "::/lib/a.so:%s"};
    char value[2048], variable[4096];
    const char *env[] = {variable, NULL};

    load("");
    test_record(9, "primary", "auto", true);
    snprintf(value, sizeof(value), forms[_i], library);
    snprintf(variable, sizeof(variable), "LD_PRELOAD=%s", value);
    ck_assert_str_eq(preloaded(env, NULL), value);
    /* It is the user's own entry. */
    ck_assert_ptr_null(host_getenv("HPCB_YIELD_JOB"));
}
END_TEST

/* LD_PRELOAD and HPCB_YIELD_JOB as a job inherits them; form with the library for %s.
 */
static const char *const *inherited(const char *form, const char *job)
{
    static char list[2048], mark[64];
    static const char *env[3];

    strcpy(list, "LD_PRELOAD=");
    snprintf(list + strlen(list), sizeof(list) - strlen(list), form, library);
    snprintf(mark, sizeof(mark), "HPCB_YIELD_JOB=%s", job ? job : "");
    env[0] = list;
    env[1] = job ? mark : NULL;
    return env;
}

/* What a job's environment had, and what is left in that of one that it submits. */
static const struct {
    const char *before, *after;
} lists[] = {
    {"%s", NULL},
    {"%s:/lib/a.so", "/lib/a.so"},
    {"/lib/a.so:%s", "/lib/a.so"},
    {"/lib/a.so %s /lib/b.so", "/lib/a.so:/lib/b.so"},
    {"%1$s:/lib/a.so:%1$s", "/lib/a.so"},
    {":%s: ", NULL},
    {"/lib/a.so", "/lib/a.so"},
    {"/x%1$s:%1$s.old:%1$s", "+"}, /* longer names are others */
};

#define LISTS ((int)(sizeof(lists) / sizeof(lists[0])))

static void expect_list(const char *list, const char *expected)
{
    char longer[4096];

    snprintf(longer, sizeof(longer), "/x%s:%s.old", library, library);
    ck_assert_pstr_eq(list, expected && *expected == '+' ? longer : expected);
}

START_TEST(left_by_a_job_that_is_submitted_from_within)
{
    load("");
    test_record(9, "primary", "none", false);
    expect_list(preloaded(inherited(lists[_i].before, "8"), NULL), lists[_i].after);
    ck_assert_ptr_null(host_getenv("HPCB_YIELD_JOB"));
    ck_assert_int_eq(host_log_count("error:") + host_log_count("info:"), 0);
}
END_TEST

START_TEST(left_by_a_step_that_does_without)
{
    static const host_option_t options[] = {{"hpc-balance", "none"}, {NULL, NULL}};

    load("");
    test_record(9, "primary", "auto", true);
    expect_list(preloaded(inherited(lists[_i].before, "9"), options), lists[_i].after);
    ck_assert_ptr_null(host_getenv("HPCB_YIELD_JOB"));
}
END_TEST

START_TEST(kept_by_a_job_that_wants_it_too)
{
    load("");
    test_record(9, "primary", "auto", true);
    ck_assert_str_eq(preloaded(inherited("%s", "8"), NULL), library);
    ck_assert_str_eq(host_getenv("HPCB_YIELD_JOB"), "9");
}
END_TEST

START_TEST(the_users_own_entry_stays)
{
    load("");
    test_record(9, "primary", "none", false);
    ck_assert_str_eq(preloaded(inherited("%s", NULL), NULL), library);
}
END_TEST

START_TEST(a_longer_name_is_another)
{
    char variable[2048], expected[4096];
    const char *env[] = {variable, NULL};

    load("");
    test_record(9, "primary", "auto", true);
    snprintf(variable, sizeof(variable), "LD_PRELOAD=%s.old", library);
    snprintf(expected, sizeof(expected), "%s:%s.old", library, library);
    ck_assert_str_eq(preloaded(env, NULL), expected);
}
END_TEST

START_TEST(endless_value)
{
    static char variable[100000] = "LD_PRELOAD=";
    const char *env[] = {variable, NULL};

    memset(variable + strlen(variable), 'a', sizeof(variable) - 20);
    load("");
    test_record(9, "primary", "auto", true);
    ck_assert_str_eq(preloaded(env, NULL), variable + strlen("LD_PRELOAD="));
    ck_assert_int_eq(host_log_count("LD_PRELOAD is too long"), 1);
}
END_TEST

START_TEST(endless_value_that_was_inherited)
{
    static char variable[100000] = "LD_PRELOAD=";
    const char *env[] = {variable, "HPCB_YIELD_JOB=8", NULL};

    memset(variable + strlen(variable), 'a', sizeof(variable) - 20);
    load("");
    test_record(9, "primary", "none", false);
    ck_assert_str_eq(preloaded(env, NULL), variable + strlen("LD_PRELOAD="));
    ck_assert_int_eq(host_log_count("LD_PRELOAD stays as it is: it is too long"), 1);
}
END_TEST

static void make_absent(void)
{
    unlink(library);
}

static void make_writable(void)
{
    ck_assert_int_eq(chmod(library, 0666), 0);
}

static void make_unreadable(void)
{
    ck_assert_int_eq(chmod(library, 0600), 0);
}

static void make_directory(void)
{
    unlink(library);
    ck_assert_int_eq(mkdir(library, 0755), 0);
}

static void make_link(void)
{
    unlink(library);
    ck_assert_int_eq(symlink("/lib/x86_64-linux-gnu/libc.so.6", library), 0);
}

static void make_foreign(void)
{
    if (getuid() == 0)
        ck_assert_int_eq(chown(library, test_user(), test_user()), 0);
    else
        make_writable();
}

/* One line for the log, and the job runs as it is. */
START_TEST(library_not_usable)
{
    static void (*const damages[])(void) = {make_absent,     make_writable,
                                            make_unreadable, make_directory,
                                            make_link,       make_foreign};

    load("");
    damages[_i]();
    test_record(9, "primary", "auto", true);
    ck_assert_ptr_null(preloaded(inherited("%s", "9"), NULL));
    ck_assert_int_eq(
        host_log_count("info: hpc_balance: job 9: MPI waits are left alone"), 1);
    ck_assert_int_eq(host_log_count("error:"), 0);
}
END_TEST

TCase *yield_tests(void)
{
    TCase *tc = tcase_create("yield");

    tcase_add_checked_fixture(tc, test_setup, test_teardown);
    tcase_add_loop_test(tc, record_decides, 0, 2);
    tcase_add_loop_test(tc, guests, 0, 2);
    tcase_add_loop_test(tc, option_of_a_step, 0, 2);
    tcase_add_loop_test(tc, keeps_what_is_there, 0, 4);
    tcase_add_loop_test(tc, not_twice, 0, 4);
    tcase_add_loop_test(tc, left_by_a_job_that_is_submitted_from_within, 0, LISTS);
    tcase_add_loop_test(tc, left_by_a_step_that_does_without, 0, LISTS);
    tcase_add_test(tc, kept_by_a_job_that_wants_it_too);
    tcase_add_test(tc, the_users_own_entry_stays);
    tcase_add_test(tc, a_longer_name_is_another);
    tcase_add_test(tc, endless_value);
    tcase_add_test(tc, endless_value_that_was_inherited);
    tcase_add_loop_test(tc, library_not_usable, 0, 6);
    return tc;
}
