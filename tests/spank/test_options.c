/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The options in srun, sbatch and salloc, and what slurmd's own context does not do. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include "tests/spank/tests.h"

static const spank_context_t commands[] = {S_CTX_LOCAL, S_CTX_ALLOCATOR};

static void accepts(const host_option_t *options)
{
    for (int i = 0; i < 2; i++)
        ck_assert_msg(host_command(commands[i], options) == 0, "%s", host_log());
    ck_assert_str_eq(host_log(), "");
}

/* One run of the command per process: options add up within one. */
START_TEST(good_values)
{
    static const host_option_t good[][3] = {
        {{NULL, NULL}},
        {{"guest", NULL}},
        {{"guest", "(null)"}},
        {{"hpc-balance", NULL}},
        {{"hpc-balance", "auto"}},
        {{"hpc-balance", "(null)"}},
        {{"bw-profile", "mem=12G,net=1G"}},
        {{"bw-profile", "mem=12G,net=1G,cpu=60%"}},
        {{"guest", NULL}, {"bw-profile", "mem=1"}},
        {{"hpc-balance", "auto"}, {"bw-profile", "net=1M"}},
        {{"bw-profile", "mem=1G"}, {"bw-spread", NULL}},
    };

    test_load("", true);
    accepts(good[_i]);
}
END_TEST

/* Each malformed value: non-zero for the command, and exactly one line of ours. */
static const host_option_t malformed[] = {
    {"guest", ""},
    {"guest", "yes"},
    {"guest", "0"},
    {"guest", " "},
    {"guest", "--guest"},
    {"guest", "primary"},
    {"guest", "\n"},
    {"guest", "\xff\xfe"},
    {"guest", "$(reboot)"},
    {"guest", "nulla-bene-nulla-bene-nulla-bene-nulla-bene-nulla-bene-nulla-bene"},
    {"hpc-balance", ""},
    {"hpc-balance", "AUTO"},
    {"hpc-balance", "none:1"},
    {"hpc-balance", "auto,auto"},
    {"hpc-balance", "static:"},
    {"hpc-balance", "static:0,9"},
    {"hpc-balance", "static:1,2,"},
    {"hpc-balance", "auto\n[error]"},
    {"hpc-balance", "\x01\x02"},
    {"hpc-balance", "%s%s%s%n"},
    /* well formed, but nothing stands behind it yet */
    {"hpc-balance", "deadline"},
    {"hpc-window", NULL},
    {"hpc-window", ""},
    {"hpc-window", "1s"},
    {"hpc-window", ":90%"},
    {"hpc-window", "1s:"},
    {"hpc-window", "1s:0%"},
    {"hpc-window", "1s:100%"},
    {"hpc-window", "-1s:90%"},
    {"hpc-window", "1e9s:90%"},
    {"hpc-window", "99999999999999999999999s:90%"},
    {"hpc-window", "1s:nan"},
    {"hpc-window", "1s:1s"},
    {"bw-profile", NULL},
    {"bw-profile", ""},
    {"bw-profile", "mem"},
    {"bw-profile", "mem="},
    {"bw-profile", "mem=12X"},
    {"bw-profile", "mem=-1"},
    {"bw-profile", "disk=1G"},
    {"bw-profile", "mem=1G,mem=2G"},
    {"bw-profile", "mem=999999999999999999999999T"},
    {"bw-profile", "mem=1G,,net=1G"},
    {"bw-profile", "cpu=101%"},
    {"bw-spread", ""},
    {"bw-spread", "1"},
};

#define N_MALFORMED ((int)(sizeof(malformed) / sizeof(malformed[0])))

static void refuses(const host_option_t *options, const char *what)
{
    static const char begin[] = "error: hpc_balance: --";

    for (int i = 0; i < 2; i++) {
        int lines = 0;

        ck_assert_int_eq(host_command(commands[i], options), 1);
        for (const char *p = host_log(); (p = strchr(p, '\n')); p++)
            lines++;
        ck_assert_msg(lines == i + 1, "%s: %s", what, host_log());
        ck_assert_int_eq(host_log_count(begin), i + 1);
    }
    ck_assert_ptr_nonnull(strstr(host_log(), what));
    ck_assert_ptr_null(strpbrk(host_log(), "\x01\x02"));
}

START_TEST(malformed_values)
{
    const host_option_t options[] = {malformed[_i], {NULL, NULL}};

    test_load("", true);
    refuses(options, malformed[_i].name);
}
END_TEST

START_TEST(long_value)
{
    static char text[100000];
    const host_option_t options[] = {{"bw-profile", text}, {NULL, NULL}};

    memset(text, '9', sizeof(text) - 1);
    test_load("", true);
    refuses(options, "bw-profile");
    ck_assert_int_lt((int)strlen(host_log()), 1500);
}
END_TEST

START_TEST(exclusive_options)
{
    static const host_option_t both[][3] = {
        {{"guest", NULL}, {"hpc-balance", "auto"}},
        {{"hpc-balance", NULL}, {"guest", NULL}},
        {{"guest", NULL}, {"bw-spread", NULL}},
    };
    static const char *const others[] = {"hpc-balance", "hpc-balance", "bw-spread"};
    char line[64];

    test_load("", true);
    ck_assert_int_eq(host_command(commands[_i % 2], both[_i / 2]), 1);
    ck_assert_int_eq(host_log_count("error: hpc_balance: "), 1);
    snprintf(line, sizeof(line), "--guest and --%s", others[_i / 2]);
    ck_assert_int_eq(host_log_count(line), 1);
}
END_TEST

/* srun --hpc-balance in the script of a guest: a step, not a contradiction. */
START_TEST(inherited_guest)
{
    static const host_option_t both[] = {
        {"guest", "(null)"}, {"hpc-balance", "auto"}, {NULL, NULL}};

    test_load("", true);
    setenv("SLURM_SPANK__SLURM_SPANK_OPTION_hpc_balance_guest", "(null)", 1);
    ck_assert_int_eq(host_command(commands[_i], both), _i);
    ck_assert_int_eq(host_log_count("error: "), _i);
}
END_TEST

/* slurmd, and a user's command, touch nothing but the options: a configuration that
 * cannot be read is not even noticed. */
START_TEST(quiet_contexts)
{
    test_load("", true);
    test_write("hpc-balance.conf", "NoSuchKey=1\n");
    host_slurmd();
    ck_assert_int_eq(host_command(S_CTX_LOCAL, NULL), 0);
    ck_assert_str_eq(host_log(), "");
    ck_assert_int_eq(host_failures(), 0);
}
END_TEST

/* In slurmstepd nothing that a user sends is an error. */
START_TEST(remote_values)
{
    const host_option_t options[] = {malformed[_i], {NULL, NULL}};
    host_step_t step = {.job_id = 7, .uid = test_user(), .options = options};

    test_load("", false);
    test_record(7, "primary", "none", false);
    host_step(&step);
    ck_assert_int_eq(step.status[0], 0);
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_eq(host_log_count("error:"), 0);
}
END_TEST

TCase *options_tests(void)
{
    TCase *tc = tcase_create("options");

    tcase_add_checked_fixture(tc, test_setup, test_teardown);
    tcase_add_loop_test(tc, good_values, 0, 11);
    tcase_add_loop_test(tc, malformed_values, 0, N_MALFORMED);
    tcase_add_test(tc, long_value);
    tcase_add_loop_test(tc, exclusive_options, 0, 6);
    tcase_add_loop_test(tc, inherited_guest, 0, 2);
    tcase_add_test(tc, quiet_contexts);
    tcase_add_loop_test(tc, remote_values, 0, N_MALFORMED);
    return tc;
}
