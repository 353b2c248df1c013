/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A job's SPANK environment: what counts as an option, and what may stay. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "jobsubmit/spank_env.h"

#define OURS     "_SLURM_SPANK_OPTION_hpc_balance_"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int read_options(char *const *env, size_t count, hpcb_options_t *options,
                        hpcb_error_t *err)
{
    err->text[0] = '\0';
    return hpcb_spank_env_options(env, count, options, err);
}

START_TEST(options_are_found_among_other_variables)
{
    char *env[] = {NULL,
                   "_SLURM_SPANK_OPTION_pyxis_container=x",
                   "TMPDIR=/scratch",
                   OURS "guest=(null)",
                   OURS "bw_profile=mem=12G,net=1G",
                   ""};
    hpcb_options_t options;
    hpcb_error_t err;

    ck_assert_int_eq(read_options(env, COUNT(env), &options, &err), 0);
    ck_assert(options.guest);
    ck_assert(options.bw_mem > 0 && options.bw_net > 0);
}
END_TEST

START_TEST(an_option_without_argument_has_two_spellings)
{
    char *with[] = {OURS "hpc_balance=(null)"}, *without[] = {OURS "hpc_balance"};
    hpcb_options_t options;
    hpcb_error_t err;

    ck_assert_int_eq(read_options(with, 1, &options, &err), 0);
    ck_assert_int_eq(options.policy, HPCB_POLICY_AUTO);
    ck_assert_int_eq(read_options(without, 1, &options, &err), 0);
    ck_assert_int_eq(options.policy, HPCB_POLICY_AUTO);
}
END_TEST

START_TEST(no_option_means_a_plain_primary)
{
    hpcb_options_t options = {.guest = true, .bw_mem = 1};
    hpcb_error_t err;

    ck_assert_int_eq(read_options(NULL, 0, &options, &err), 0);
    ck_assert(!options.guest);
    ck_assert_uint_eq(options.bw_mem, 0);
}
END_TEST

START_TEST(what_only_looks_like_an_option_is_none)
{
    char *env[] = {"X" OURS "guest=(null)", "SPANK_" OURS "guest=(null)",
                   "_SLURM_SPANK_OPTION_hpc_balance=guest",
                   "_SLURM_SPANK_OPTION_hpc_balancer_guest=1"};
    hpcb_options_t options;
    hpcb_error_t err;

    ck_assert_int_eq(read_options(env, COUNT(env), &options, &err), 0);
    ck_assert(!options.guest);
}
END_TEST

static const char *const bad[] = {
    OURS "guest=yes",
    OURS "guest=",
    OURS "hpc_balance=fast",
    OURS "hpc_window=1s",
    OURS "hpc_window",
    OURS "bw_profile=mem=-1",
    OURS "bw_profile=\xff\xfe",
    OURS "gues=(null)",
    OURS "guestt=(null)",
    OURS "=(null)",
    OURS,
    OURS "guest\n=1",
    OURS "hpc_balance=a\nb",
    OURS "hpc-balance=auto",
};

START_TEST(a_bad_option_is_refused_with_one_line)
{
    char *env[] = {OURS "bw_profile=mem=1G", (char *)bad[_i]};
    hpcb_options_t options = {.bw_net = 77};
    hpcb_error_t err;

    ck_assert_int_eq(read_options(env, COUNT(env), &options, &err), -1);
    ck_assert(err.text[0] && !strchr(err.text, '\n'));
    ck_assert_uint_eq(options.bw_net, 77);
    ck_assert_uint_eq(options.bw_mem, 0);
}
END_TEST

START_TEST(refusals_name_option_and_value)
{
    char *env[] = {OURS "hpc_balance=fast"};
    hpcb_options_t options;
    hpcb_error_t err;

    ck_assert_int_eq(read_options(env, 1, &options, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "--hpc-balance"));
    ck_assert_ptr_nonnull(strstr(err.text, "fast"));
}
END_TEST

START_TEST(class_entries_of_the_user_are_dropped_in_every_form)
{
    char *env[] = {"HPCB_CLASS=primary", "SPANK_HPCB_CLASS=primary", "HPCB_CLASS",
                   "HPCB_CLASSES=1",     "SPANK_SPANK_HPCB_CLASS=x", "XHPCB_CLASS=2"};
    bool expected[] = {false, false, false, true, true, true};
    bool keep[COUNT(env)];
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_spank_env_sift(env, COUNT(env), keep, &err), 3);
    ck_assert_mem_eq(keep, expected, sizeof(keep));
}
END_TEST

START_TEST(the_last_of_equal_names_stays)
{
    char *env[] = {"A=1", "AB=1", "A=2", NULL, "B=1", "A=3=4", "AB=", "=x", "noequals"};
    bool expected[] = {false, false, false, false, true, true, true, false, false};
    bool keep[COUNT(env)];
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_spank_env_sift(env, COUNT(env), keep, &err), 3);
    ck_assert_mem_eq(keep, expected, sizeof(keep));
}
END_TEST

static char *entry_of(size_t name, size_t value)
{
    char *entry = malloc(name + 1 + value + 1);

    ck_assert_ptr_nonnull(entry);
    memset(entry, 'n', name);
    entry[name] = '=';
    memset(entry + name + 1, 'v', value);
    entry[name + 1 + value] = '\0';
    return entry;
}

/* The bounds are those of Slurm's env_array_merge, which drops one more. */
START_TEST(entries_that_slurm_would_drop_are_dropped)
{
    char *env[] = {entry_of(255, 1), entry_of(256, 1), entry_of(1, 256 * 1024 - 1),
                   entry_of(2, 256 * 1024)};
    bool expected[] = {true, false, true, false};
    bool keep[COUNT(env)];
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_spank_env_sift(env, COUNT(env), keep, &err), 2);
    ck_assert_mem_eq(keep, expected, sizeof(keep));
    for (size_t i = 0; i < COUNT(env); i++)
        free(env[i]);
}
END_TEST

START_TEST(too_many_entries_are_refused_unread)
{
    char *env[1] = {"A=1"};
    bool keep[1];
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_spank_env_sift(env, 1000000, keep, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "1000000"));
}
END_TEST

START_TEST(as_many_entries_as_allowed_work)
{
    char **env = calloc(HPCB_SPANK_ENV_MAX, sizeof(*env));
    bool *keep = calloc(HPCB_SPANK_ENV_MAX, sizeof(*keep));
    hpcb_error_t err;

    ck_assert(env && keep);
    for (size_t i = 0; i < HPCB_SPANK_ENV_MAX; i++)
        env[i] = "SAME=1";
    ck_assert_int_eq(hpcb_spank_env_sift(env, HPCB_SPANK_ENV_MAX, keep, &err), 1);
    ck_assert(keep[HPCB_SPANK_ENV_MAX - 1]);
    free(env);
    free(keep);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spank_env");
    TCase *tcase = tcase_create("spank_env");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, options_are_found_among_other_variables);
    tcase_add_test(tcase, an_option_without_argument_has_two_spellings);
    tcase_add_test(tcase, no_option_means_a_plain_primary);
    tcase_add_test(tcase, what_only_looks_like_an_option_is_none);
    tcase_add_loop_test(tcase, a_bad_option_is_refused_with_one_line, 0, COUNT(bad));
    tcase_add_test(tcase, refusals_name_option_and_value);
    tcase_add_test(tcase, class_entries_of_the_user_are_dropped_in_every_form);
    tcase_add_test(tcase, the_last_of_equal_names_stays);
    tcase_add_test(tcase, entries_that_slurm_would_drop_are_dropped);
    tcase_add_test(tcase, too_many_entries_are_refused_unread);
    tcase_add_test(tcase, as_many_entries_as_allowed_work);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
