/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "tests/common/comma.h"
#include "tests/common/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TERA         (UINT64_C(1) << 40)

/* Parse refuses the value with one line that names the option and what is allowed, and
 * leaves the options as they are. */
static void expect_refused(const char *name, const char *value)
{
    hpcb_options_t options, before;
    hpcb_error_t err = {""};
    char start[64];

    memset(&options, 0x5a, sizeof(options));
    before = options;
    ck_assert_msg(hpcb_option_parse(name, value, &options, &err) == -1, "--%s=%s", name,
                  value);
    ck_assert_int_eq(memcmp(&options, &before, sizeof(options)), 0);
    snprintf(start, sizeof(start), "--%s%s", name,
             value && strcmp(value, "(null)") != 0 ? "=" : ": ");
    ck_assert_msg(strncmp(err.text, start, strlen(start)) == 0, "%s", err.text);
    ck_assert_msg(strstr(err.text, "allowed: ") || strstr(err.text, "takes no value"),
                  "%s", err.text);
    ck_assert_ptr_null(strpbrk(err.text, "\n\x1b"));
}

/* It is not only the engine that is missing. */
static void expect_malformed(const char *name, const char *value)
{
    hpcb_options_t options, before;
    hpcb_error_t err;

    memset(&options, 0x5a, sizeof(options));
    before = options;
    ck_assert_msg(hpcb_option_scan(name, value, &options, &err) == -1, "--%s=%s", name,
                  value);
    ck_assert_int_eq(memcmp(&options, &before, sizeof(options)), 0);
    expect_refused(name, value);
}

START_TEST(the_five_options_have_usage)
{
    static const char *const names[] = {"guest", "hpc-balance", "hpc-window",
                                        "bw-profile", "bw-spread"};
    const hpcb_option_spec_t *specs;
    size_t count;

    specs = hpcb_option_specs(&count);
    ck_assert_uint_eq(count, COUNT(names));
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(specs[i].name, names[i]);
        ck_assert_uint_gt(strlen(specs[i].usage), 10);
        ck_assert_int_eq(specs[i].arginfo == NULL, i == 0 || i == 4);
        ck_assert_int_eq(specs[i].arg_optional, i == 1);
    }
}
END_TEST

START_TEST(guest_takes_no_value)
{
    hpcb_options_t options = {0};

    ck_assert_int_eq(hpcb_option_parse("guest", NULL, &options, NULL), 0);
    ck_assert(options.guest);
    options.guest = false;
    ck_assert_int_eq(hpcb_option_parse("guest", "(null)", &options, NULL), 0);
    ck_assert(options.guest);
    expect_malformed("guest", "x");
    expect_malformed("guest", "");
    expect_malformed("guest", "no");
}
END_TEST

START_TEST(auto_is_built_and_the_default)
{
    hpcb_options_t options = {0};

    ck_assert_int_eq(hpcb_option_parse("hpc-balance", NULL, &options, NULL), 0);
    ck_assert_int_eq(options.policy, HPCB_POLICY_AUTO);
    options.policy = HPCB_POLICY_NONE;
    ck_assert_int_eq(hpcb_option_parse("hpc-balance", "auto", &options, NULL), 0);
    ck_assert_int_eq(options.policy, HPCB_POLICY_AUTO);
}
END_TEST

START_TEST(policies_are_taken_with_their_parameters)
{
    static const struct {
        const char *value;
        hpcb_policy_t policy;
    } rows[] = {
        {"none", HPCB_POLICY_NONE},
        {"wait", HPCB_POLICY_WAIT},
        {"auto:busy=90", HPCB_POLICY_AUTO},
        {"static:4,6,1", HPCB_POLICY_STATIC},
        {"uniform:high=90,low=60", HPCB_POLICY_UNIFORM},
        {"adaptive:global=20", HPCB_POLICY_ADAPTIVE},
        {"dlrb", HPCB_POLICY_DLRB},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        hpcb_options_t options = {0};

        ck_assert_int_eq(
            hpcb_option_parse("hpc-balance", rows[i].value, &options, NULL), 0);
        ck_assert_int_eq(options.policy, rows[i].policy);
        ck_assert_str_eq(options.balance, rows[i].value);
        ck_assert(hpcb_policy_balances(options.policy) == (i > 1));
    }
}
END_TEST

START_TEST(policies_without_an_engine_are_refused)
{
    hpcb_options_t options = {0};
    hpcb_error_t err;

    expect_refused("hpc-balance", "deadline");
    ck_assert_int_eq(hpcb_option_scan("hpc-balance", "deadline", &options, NULL), 0);
    ck_assert_int_eq(options.policy, HPCB_POLICY_DEADLINE);
    hpcb_option_parse("hpc-balance", "deadline", &(hpcb_options_t){0}, &err);
    ck_assert_str_eq(err.text, "--hpc-balance=deadline: not built in this release; "
                               "allowed: none, wait, auto, static:P0,P1,..., uniform, "
                               "adaptive, dlrb");
}
END_TEST

START_TEST(malformed_policies_are_refused)
{
    static const char *const bad[] = {
        "",           "AUTO",         "auto ",     " auto",     "auto:",
        "dlrb:",      "none:1",       "wait:1",    "static",    "static:",
        "deadline:1", "static:1;2",   "static:-1", "static:+1", "static:1.0",
        "static:1 ",  "dlrb:high=8%", "autoauto",  "(null",     "a\nb",
        "%s%s%n",     "dlrb:A=1",
    };

    for (size_t i = 0; i < COUNT(bad); i++)
        expect_malformed("hpc-balance", bad[i]);
}
END_TEST

START_TEST(a_policy_is_not_endless)
{
    char value[HPCB_BALANCE_TEXT_MAX + 8] = "static:";
    hpcb_options_t options = {0};

    while (strlen(value) < HPCB_BALANCE_TEXT_MAX - 1)
        strcat(value, "6");
    ck_assert_int_eq(hpcb_option_scan("hpc-balance", value, &options, NULL), 0);
    ck_assert_str_eq(options.balance, value);
    strcat(value, "6");
    expect_malformed("hpc-balance", value);
}
END_TEST

START_TEST(good_windows_are_taken)
{
    static const struct {
        const char *value;
        uint64_t period_us;
        uint64_t favoured_us;
    } rows[] = {
        {"1s:90%", 1000000, 900000},
        {"1ms:0.5", 1000, 500},
        {"1000us:0.001", 1000, 1},
        {"3600s:99.9999%", 3600000000, 3599996400},
        {"0.001s:1%", 1000, 10},
        {"2.5ms:12.5%", 2500, 312},
        {"3600000ms:0.999999", 3600000000, 3599996400},
        {"500ms:450ms", 500000, 450000},
        {"1s:0.25s", 1000000, 250000},
        {"1ms:999us", 1000, 999},
    };
    hpcb_options_t options = {0};

    for (size_t i = 0; i < COUNT(rows); i++) {
        ck_assert_int_eq(hpcb_option_parse("hpc-window", rows[i].value, &options, NULL),
                         0);
        ck_assert_uint_eq(options.window.period_us, rows[i].period_us);
        ck_assert_uint_eq(options.window.favoured_us, rows[i].favoured_us);
    }
}
END_TEST

START_TEST(malformed_windows_are_refused)
{
    static const char *const bad[] = {
        NULL,
        "(null)",
        "",
        ":",
        "1s",
        "1s:",
        ":90%",
        "1:90%",
        "1m:90%",
        "1h:90%",
        "1S:90%",
        "999us:90%",
        "0s:90%",
        "0.0009999s:90%",
        "3601s:90%",
        "3600.000001s:90%",
        "18446744073709551617s:90%",
        "-1s:90%",
        "+1s:90%",
        "1e3s:90%",
        "0x1s:90%",
        "infs:90%",
        "nans:0.5",
        "1 s:90%",
        "1s:0%",
        "1s:100%",
        "1s:0",
        "1s:1",
        "1s:1.0",
        "1s:0.0",
        "1s:90",
        "1s:-90%",
        "1s:101%",
        "1s:0.9%%",
        "1s:90%x",
        "1s:.9",
        "1s:0.",
        "1s:0,9",
        "1s:inf",
        "1s:nan",
        "1s:0x1p-1",
        "1s:0.9999999",
        "1s:0.0000001%",
        "1s:90%:5",
        "1..5s:90%",
        "1s:99999999999999999999%",
        "1s:1s",
        "1s:1000ms",
        "1s:2s",
        "500ms:0ms",
        "500ms:450",
        "500ms:450 ms",
        "500ms:450m",
        "500ms:-450ms",
        "1000us:0.000001",
        "1ms:0.1us",
        "00000000000000000000000000000001s:90%",
    };

    for (size_t i = 0; i < COUNT(bad); i++)
        expect_malformed("hpc-window", bad[i]);
}
END_TEST

START_TEST(profiles_are_kept)
{
    hpcb_options_t options = {0};

    ck_assert_int_eq(
        hpcb_option_parse("bw-profile", "mem=12G,net=1.5M,cpu=60%", &options, NULL), 0);
    ck_assert(options.bw_mem == 12 * (TERA >> 10));
    ck_assert(options.bw_net == 3 * (UINT64_C(1) << 19));
    ck_assert_double_eq_tol(options.bw_cpu, 0.6, 1e-12);
    ck_assert_int_eq(hpcb_option_parse("bw-profile", "net=100", &options, NULL), 0);
    ck_assert_uint_eq(options.bw_mem, 0);
    ck_assert_uint_eq(options.bw_net, 100);
    ck_assert(options.bw_cpu == 0);
    ck_assert_int_eq(
        hpcb_option_parse("bw-profile", "cpu=100%,mem=1048576T", &options, NULL), 0);
    ck_assert(options.bw_mem == UINT64_C(1) << 60);
    ck_assert(options.bw_cpu == 1.0);
}
END_TEST

START_TEST(sizes_are_powers_of_1024)
{
    static const struct {
        const char *value;
        uint64_t bytes;
    } rows[] = {
        {"mem=1", 1},         {"mem=1K", 1024},
        {"mem=1k", 1024},     {"mem=1M", 1 << 20},
        {"mem=1g", 1 << 30},  {"mem=1T", TERA},
        {"mem=0.5K", 512},    {"mem=0.000001G", 1073},
        {"mem=1024.0", 1024}, {"mem=1152921504606846976", UINT64_C(1) << 60},
    };
    hpcb_options_t options = {0};

    for (size_t i = 0; i < COUNT(rows); i++) {
        ck_assert_msg(hpcb_option_parse("bw-profile", rows[i].value, &options, NULL) ==
                          0,
                      "%s", rows[i].value);
        ck_assert(options.bw_mem == rows[i].bytes);
    }
}
END_TEST

START_TEST(malformed_profiles_are_refused)
{
    static const char *const bad[] = {
        NULL,
        "(null)",
        "",
        ",",
        "mem",
        "mem=",
        "=1G",
        "mem=1G,",
        ",mem=1G",
        "mem=1G,,net=1G",
        "mem=1G,mem=1G",
        "net=1,net=2",
        "cpu=1%,cpu=1%",
        "disk=1G",
        "MEM=1G",
        "mem =1G",
        "mem= 1G",
        "mem=1G net=1G",
        "mem=0",
        "mem=0G",
        "mem=0.1",
        "mem=-1G",
        "mem=+1G",
        "mem=1e9",
        "mem=0x10",
        "mem=inf",
        "mem=nan",
        "mem=1GB",
        "mem=1GiB",
        "mem=1P",
        "mem=1,5G",
        "mem=1.G",
        "mem=.5G",
        "mem=1.2345678G",
        "mem=1048577T",
        "mem=1048576.000001T",
        "mem=1152921504606846977",
        "mem=18446744073709551617",
        "mem=99999999999999999999T",
        "cpu=60",
        "cpu=0.6",
        "cpu=0%",
        "cpu=101%",
        "cpu=100.0001%",
        "cpu=-1%",
        "cpu=%",
        "cpu=60%%",
        "cpu=0.00000001%",
        "mem=1G;net=1G",
        "mem=1G\nnet=1G",
        "mem=1{",
    };

    for (size_t i = 0; i < COUNT(bad); i++)
        expect_malformed("bw-profile", bad[i]);
}
END_TEST

START_TEST(a_spread_has_no_value)
{
    hpcb_options_t options = {.bw_mem = 1};

    ck_assert_int_eq(hpcb_option_parse("bw-spread", NULL, &options, NULL), 0);
    ck_assert(options.spread && options.bw_mem == 1);
    options.spread = false;
    ck_assert_int_eq(hpcb_option_parse("bw-spread", "(null)", &options, NULL), 0);
    ck_assert(options.spread);
    expect_malformed("bw-spread", "");
    expect_malformed("bw-spread", "yes");
    expect_malformed("bw-spread", "2");
}
END_TEST

START_TEST(endless_values_are_refused_in_one_line)
{
    static const char *const names[] = {"guest", "hpc-balance", "hpc-window",
                                        "bw-profile", "bw-spread"};
    char *value = malloc(1 << 20);

    memset(value, '1', (1 << 20) - 1);
    value[(1 << 20) - 1] = '\0';
    for (size_t i = 0; i < COUNT(names); i++)
        expect_malformed(names[i], value);
    memcpy(value, "mem=", 4);
    expect_malformed("bw-profile", value);
    memcpy(value, "static:", 7);
    expect_malformed("hpc-balance", value);
    free(value);
}
END_TEST

START_TEST(the_locale_changes_nothing)
{
    hpcb_options_t options = {0};

    if (!comma_enter())
        return;
    ck_assert_int_eq(hpcb_option_scan("hpc-window", "1.5s:0.5", &options, NULL), 0);
    ck_assert_uint_eq(options.window.period_us, 1500000);
    expect_malformed("hpc-window", "1,5s:0,5");
    comma_leave();
}
END_TEST

START_TEST(unknown_options_are_refused)
{
    hpcb_options_t options = {0};
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_option_parse("nice", "19", &options, &err), -1);
    ck_assert_str_eq(err.text, "--nice: no such option");
}
END_TEST

START_TEST(guests_are_not_balanced)
{
    hpcb_options_t options = {.guest = true, .bw_mem = 1};
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_options_check(&options, &err), 0);
    options.policy = HPCB_POLICY_AUTO;
    ck_assert_int_eq(hpcb_options_check(&options, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "--guest and --hpc-balance exclude"));
    options.policy = HPCB_POLICY_NONE;
    options.window.period_us = 1000;
    ck_assert_int_eq(hpcb_options_check(&options, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "--guest and --hpc-window exclude"));
    options.window.period_us = 0;
    options.spread = true;
    ck_assert_int_eq(hpcb_options_check(&options, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "--guest and --bw-spread exclude"));
    options.guest = false;
    options.policy = HPCB_POLICY_AUTO;
    options.window.period_us = 1000;
    ck_assert_int_eq(hpcb_options_check(&options, &err), 0);
}
END_TEST

START_TEST(policy_names_go_both_ways)
{
    for (hpcb_policy_t p = HPCB_POLICY_NONE; p <= HPCB_POLICY_DEADLINE; p++) {
        hpcb_policy_t back = HPCB_POLICY_DLRB;

        ck_assert_int_eq(hpcb_policy_from_name(hpcb_policy_name(p), &back), 0);
        ck_assert_int_eq(back, p);
    }
    ck_assert_int_eq(hpcb_policy_from_name("fast", &(hpcb_policy_t){0}), -1);
    ck_assert_str_eq(hpcb_policy_name((hpcb_policy_t)99), "none");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *tc = scratch_case("options");

    tcase_add_test(tc, the_five_options_have_usage);
    tcase_add_test(tc, guest_takes_no_value);
    tcase_add_test(tc, auto_is_built_and_the_default);
    tcase_add_test(tc, policies_are_taken_with_their_parameters);
    tcase_add_test(tc, policies_without_an_engine_are_refused);
    tcase_add_test(tc, malformed_policies_are_refused);
    tcase_add_test(tc, a_policy_is_not_endless);
    tcase_add_test(tc, good_windows_are_taken);
    tcase_add_test(tc, malformed_windows_are_refused);
    tcase_add_test(tc, profiles_are_kept);
    tcase_add_test(tc, sizes_are_powers_of_1024);
    tcase_add_test(tc, malformed_profiles_are_refused);
    tcase_add_test(tc, a_spread_has_no_value);
    tcase_add_test(tc, endless_values_are_refused_in_one_line);
    tcase_add_test(tc, the_locale_changes_nothing);
    tcase_add_test(tc, unknown_options_are_refused);
    tcase_add_test(tc, guests_are_not_balanced);
    tcase_add_test(tc, policy_names_go_both_ways);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
