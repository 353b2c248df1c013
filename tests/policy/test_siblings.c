/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy/cpus.h"
#include "policy/share.h"
#include "policy/siblings.h"

static hpcb_cpus_t set(const char *list)
{
    hpcb_cpus_t cpus = {{0}};

    ck_assert_msg(hpcb_cpus_parse(list, &cpus) == 0, "%s", list);
    return cpus;
}

static const char *text(const hpcb_cpus_t *cpus)
{
    static char list[4096];

    ck_assert_int_eq(hpcb_cpus_list(cpus, list, sizeof(list)), 0);
    return list;
}

START_TEST(lists_there_and_back)
{
    static const char *const good[] = {"",           "0",      "0-1",      "0,2,4-7",
                                       "63-64,8191", "0-8191", "5,127-129"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        hpcb_cpus_t cpus = set(good[i]);

        ck_assert_str_eq(text(&cpus), good[i]);
    }
    ck_assert_uint_eq(hpcb_cpus_count(&(hpcb_cpus_t){{0}}), 0);
}
END_TEST

START_TEST(refuses_what_is_no_list)
{
    static const char *const bad[] = {"a",    "1-",    "-1",   "3-2",       "0,",
                                      ",0",   "0,,",   "8192", "0-99999",   "1 2",
                                      "0\n1", "1-2-3", "0x1",  "4294967296"};
    hpcb_cpus_t cpus = set("7");

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(hpcb_cpus_parse(bad[i], &cpus) == -1, "%s", bad[i]);
        ck_assert_str_eq(text(&cpus), "7");
    }
}
END_TEST

START_TEST(a_list_that_does_not_fit)
{
    hpcb_cpus_t cpus = set("0,2,4,6");
    char small[8];

    ck_assert_int_eq(hpcb_cpus_list(&cpus, small, sizeof(small)), 0);
    ck_assert_int_eq(hpcb_cpus_list(&cpus, small, sizeof(small) - 1), -1);
    ck_assert_int_eq(hpcb_cpus_list(&cpus, small, 0), -1);
}
END_TEST

START_TEST(sets)
{
    hpcb_cpus_t a = set("0-3"), b = set("2-5,200");

    ck_assert(!hpcb_cpus_within(&a, &b));
    hpcb_cpus_join(&a, &b);
    ck_assert_str_eq(text(&a), "0-5,200");
    ck_assert(hpcb_cpus_within(&b, &a));
    hpcb_cpus_drop(&a, &b);
    ck_assert_str_eq(text(&a), "0-1");
    ck_assert_uint_eq(hpcb_cpus_from(&b, 6), 200);
    ck_assert_uint_eq(hpcb_cpus_from(&b, 201), HPCB_CPUS_MAX);
}
END_TEST

/* Table 2.1, and that time f beside an equal thread is 1 of R decode slots. */
START_TEST(shares_are_those_of_the_thesis)
{
    static const unsigned slots[] = {2, 4, 8, 16, 32};

    for (unsigned d = 0; d < 5; d++) {
        ck_assert_uint_eq(hpcb_share_slots(d), slots[d]);
        ck_assert_uint_eq(hpcb_share_slots(d), 2u << d);
        ck_assert_uint_eq(hpcb_share_time(d), 2 * HPCB_SHARE_ONE / slots[d]);
    }
    ck_assert_uint_eq(hpcb_share_slots(5), 0);
    ck_assert_uint_eq(hpcb_share_time(5), 10000);
    ck_assert_uint_eq(hpcb_share_time(99), 10000);
}
END_TEST

/* Beside the guest the primary has half of the core: why 5 is the default of
 * GuestSiblingDifference (doc/hpc-balance.conf.5). */
START_TEST(only_the_largest_difference_costs_less_than_1_percent)
{
    for (unsigned d = 0; d < HPCB_SHARE_DIFFERENCE_MAX; d++)
        ck_assert_uint_gt(hpcb_share_time(d) / 2, HPCB_SHARE_ONE / 100);
    ck_assert_uint_lt(hpcb_share_time(HPCB_SHARE_DIFFERENCE_MAX) / 2,
                      HPCB_SHARE_ONE / 100);
}
END_TEST

START_TEST(quotas)
{
    ck_assert_uint_eq(hpcb_share_quota(62500, 100000), 6250);
    ck_assert_uint_eq(hpcb_share_quota(2 * 62500, 100000), 12500);
    ck_assert_uint_eq(hpcb_share_quota(10000, 100000), 1000);
    /* Two and a half CPUs. */
    ck_assert_uint_eq(hpcb_share_quota(2500000, 100000), 250000);
    /* Less than the kernel takes. */
    ck_assert_uint_eq(hpcb_share_quota(10000, 50000), 1000);
    ck_assert_uint_eq(hpcb_share_quota(0, 100000), 1000);
    /* No such period: nothing overflows. */
    ck_assert_uint_eq(hpcb_share_quota(1000000, UINT64_MAX), 1000000);
}
END_TEST

/* Four cores of two threads as x86 numbers them: 0,4  1,5  2,6  3,7. */
static hpcb_cores_t four_cores(void)
{
    hpcb_cores_t cores = {.smt = true, .online = set("0-7")};

    for (unsigned cpu = 0; cpu < 8; cpu++)
        cores.core[cpu] = (uint16_t)(cpu % 4);
    return cores;
}

START_TEST(exposed)
{
    static const char *const cases[][3] = {
        /* allowed, held, exposed */
        {"0-7", "", ""},       {"0-7", "0", "4"}, /* the primary's own thread is not */
        {"0-7", "0,4", "0,4"}, /* both are held: either may have one beside it */
        {"4", "0", "4"},       {"0", "0", ""},         {"1-3", "0,4", ""},
        {"0-7", "0-7", "0-7"}, {"0-7,100", "100", ""}, /* not online: no core */
    };
    hpcb_cores_t cores = four_cores();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hpcb_cpus_t allowed = set(cases[i][0]), held = set(cases[i][1]);
        hpcb_cpus_t found = hpcb_siblings_exposed(&cores, &allowed, &held);

        ck_assert_msg(strcmp(text(&found), cases[i][2]) == 0, "%s beside %s: %s",
                      cases[i][0], cases[i][1], text(&found));
    }
}
END_TEST

typedef struct {
    const char *allowed, *held;
    int cookie, avoid, throttle;
    hpcb_siblings_how_t how;
    const char *cpus;
    uint64_t share;
} plan_case_t;

static const plan_case_t plans[] = {
    /* With a cookie: kept off all the same, but never throttled. */
    {"0-7", "", 1, 1, 1, HPCB_SIBLINGS_NOTHING, "", 0},
    {"0-7", "0", 1, 1, 1, HPCB_SIBLINGS_AVOID, "0-3,5-7", 0},
    {"0-7", "0", 1, 0, 1, HPCB_SIBLINGS_COOKIE, "", 0},
    {"0-7", "0-7", 1, 1, 1, HPCB_SIBLINGS_COOKIE, "", 0},
    /* Nobody beside it. */
    {"0-7", "", 0, 1, 1, HPCB_SIBLINGS_NOTHING, "", 0},
    {"0", "0", 0, 1, 1, HPCB_SIBLINGS_NOTHING, "", 0},
    /* CPUs that are not exposed remain. */
    {"0-7", "0", 0, 1, 1, HPCB_SIBLINGS_AVOID, "0-3,5-7", 0},
    {"0,4", "0", 0, 1, 1, HPCB_SIBLINGS_AVOID, "0", 0},
    {"0-7", "0,4", 0, 1, 1, HPCB_SIBLINGS_AVOID, "1-3,5-7", 0},
    /* None does. */
    {"4", "0", 0, 1, 1, HPCB_SIBLINGS_THROTTLE, "", 62500},
    {"0,4", "0,4", 0, 1, 1, HPCB_SIBLINGS_THROTTLE, "", 125000},
    /* As configured: throttle only, keep off only. */
    {"0-7", "0", 0, 0, 1, HPCB_SIBLINGS_THROTTLE, "", 62500},
    {"0,4", "0,4", 0, 1, 0, HPCB_SIBLINGS_AVOID, "0", 0},
    {"4-5", "0-7", 0, 1, 0, HPCB_SIBLINGS_AVOID, "4-5", 0},
    /* Nothing can be had. */
    {"4", "0", 0, 0, 0, HPCB_SIBLINGS_HELPLESS, "", 0},
    {"0-3", "4-7", 0, 0, 0, HPCB_SIBLINGS_HELPLESS, "", 0},
};

START_TEST(plan)
{
    const plan_case_t *c = &plans[_i];
    hpcb_cores_t cores = four_cores();
    hpcb_siblings_facts_t facts = {.cores = &cores,
                                   .allowed = set(c->allowed),
                                   .held = set(c->held),
                                   .cookie = c->cookie,
                                   .avoid = c->avoid,
                                   .throttle = c->throttle,
                                   .difference = 4};
    hpcb_siblings_plan_t found;

    hpcb_siblings_plan(&facts, &found);
    ck_assert_int_eq(found.how, c->how);
    ck_assert(found.cookie == c->cookie);
    ck_assert_str_eq(text(&found.cpus), c->cpus);
    ck_assert_uint_eq(found.share, c->share);
    /* Nothing at all where cores have one thread. */
    cores.smt = false;
    hpcb_siblings_plan(&facts, &found);
    ck_assert_int_eq(found.how, HPCB_SIBLINGS_NOTHING);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("siblings");
    TCase *tcase = tcase_create("siblings");
    SRunner *runner;
    int failed;

    tcase_add_test(tcase, lists_there_and_back);
    tcase_add_test(tcase, refuses_what_is_no_list);
    tcase_add_test(tcase, a_list_that_does_not_fit);
    tcase_add_test(tcase, sets);
    tcase_add_test(tcase, shares_are_those_of_the_thesis);
    tcase_add_test(tcase, only_the_largest_difference_costs_less_than_1_percent);
    tcase_add_test(tcase, quotas);
    tcase_add_test(tcase, exposed);
    tcase_add_loop_test(tcase, plan, 0, (int)(sizeof(plans) / sizeof(plans[0])));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
