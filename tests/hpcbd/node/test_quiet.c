/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* When a node counts as idle. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/state.h"
#include "hpcbd/node/quiet.h"
#include "tests/common/scratch.h"

#define SECOND UINT64_C(1000000)

static hpcb_idle_t before, after;

/* What count CPUs were idle for in ten seconds: all but used seconds of all together,
 * as evenly as the kernel's ticks allow. */
static void spend(unsigned count, double used)
{
    memset(&before, 0, sizeof(before));
    before.time_us = 1000 * SECOND;
    before.count = count;
    for (unsigned cpu = 0; cpu < count; cpu++)
        before.idle_us[cpu] = 500 * SECOND;
    after = before;
    after.time_us += 10 * SECOND;
    for (unsigned cpu = 0; cpu < count; cpu++)
        after.idle_us[cpu] += (uint64_t)((10 - used / count) * 1e6);
}

/* Seconds of CPU time in ten. */
static const struct {
    unsigned count;
    double used;
    bool busy;
} nodes[] = {
    {2, 0, false},     {2, 0.4, false}, /* a monitoring daemon: 2 % of the CPUs */
    {64, 12.8, false},                  /* the same of a large node */
    {64, 31, false},                    /* a few threads */
    {64, 40, true},                     /* four processes that compute */
    {2, 3, true},      {1, 10, true},
};

START_TEST(daemons_do_not_make_a_node_busy)
{
    spend(nodes[_i].count, nodes[_i].used);
    ck_assert_int_eq(hpcbd_is_busy(&before, &after), nodes[_i].busy);
}
END_TEST

/* A CPU that went or came meanwhile is none of the node's. */
START_TEST(offline_cpus_count_for_nothing)
{
    spend(8, 0);
    before.idle_us[3] = after.idle_us[3] = 0;
    after.idle_us[7] = 0;
    after.count = 7;
    ck_assert(!hpcbd_is_busy(&before, &after));
}
END_TEST

START_TEST(nothing_known_is_busy)
{
    memset(&before, 0, sizeof(before));
    after = before;
    ck_assert(hpcbd_is_busy(&before, &after));
    spend(4, 0);
    ck_assert(hpcbd_is_busy(&after, &after));
}
END_TEST

START_TEST(a_record_is_a_job)
{
    hpcb_job_state_t job = {.job_id = 7,
                            .uid = 1000,
                            .klass = HPCB_CLASS_PRIMARY,
                            .partition = "p",
                            .begin_us = 1};
    const char *dir = scratch_dir();

    ck_assert(!hpcbd_has_jobs(dir));
    ck_assert_int_eq(hpcb_state_save(dir, &job, NULL), 0);
    ck_assert(hpcbd_has_jobs(dir));
    ck_assert(!hpcbd_has_guests(dir));
    job.job_id = 8;
    job.klass = HPCB_CLASS_GUEST;
    ck_assert_int_eq(hpcb_state_save(dir, &job, NULL), 0);
    ck_assert(hpcbd_has_guests(dir));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quiet");
    TCase *test = scratch_case("quiet");

    tcase_add_loop_test(test, daemons_do_not_make_a_node_busy, 0,
                        sizeof(nodes) / sizeof(nodes[0]));
    tcase_add_test(test, offline_cpus_count_for_nothing);
    tcase_add_test(test, nothing_known_is_busy);
    tcase_add_test(test, a_record_is_a_job);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
