/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What is counted of the guard's steps (hpcbd/harm/tally.c), with a clock of the
 * test's. */
#include "config.h"

#include <time.h>

#include "hpcbd/harm/tally.h"
#include "hpcbd/node/registry.h"
#include "tests/common/scratch.h"

#define GUEST   7
#define PRIMARY 8

static int64_t seconds; /* 0: the real clock */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!seconds)
        return __real_clock_gettime(clock, now);
    *now = (struct timespec){.tv_sec = seconds};
    return 0;
}

static void setup(void)
{
    seconds = 1000;
    hpcbd_tally_forget(GUEST);
    hpcbd_tally_forget(PRIMARY);
}

static void teardown(void)
{
    seconds = 0;
}

static hpcb_restraint_t known(uint32_t job_id, hpcb_class_t klass)
{
    hpcb_restraint_t found = hpcb_restraint_unknown;

    hpcbd_tally_add(job_id, klass, &found);
    return found;
}

START_TEST(times_add_up)
{
    hpcbd_tally_time(GUEST, HPCBD_TALLY_THROTTLED, true);
    seconds += 10;
    hpcbd_tally_time(GUEST, HPCBD_TALLY_THROTTLED, true);
    hpcbd_tally_time(GUEST, HPCBD_TALLY_STOPPED, true);
    seconds += 5;
    ck_assert_uint_eq(known(GUEST, HPCB_CLASS_GUEST).throttled_us, 15000000);
    hpcbd_tally_time(GUEST, HPCBD_TALLY_THROTTLED, false);
    hpcbd_tally_time(GUEST, HPCBD_TALLY_THROTTLED, false);
    seconds += 100;
    hpcbd_tally_time(GUEST, HPCBD_TALLY_THROTTLED, true);
    seconds += 1;
    ck_assert_uint_eq(known(GUEST, HPCB_CLASS_GUEST).throttled_us, 16000000);
    ck_assert_uint_eq(known(GUEST, HPCB_CLASS_GUEST).stopped_us, 106000000);
    ck_assert_uint_eq(known(GUEST, HPCB_CLASS_GUEST).starved_us, 0);
}
END_TEST

START_TEST(steps_and_requeues_are_counted)
{
    hpcbd_tally_step(PRIMARY);
    hpcbd_tally_step(PRIMARY);
    hpcbd_tally_requeued(PRIMARY, 3);
    hpcbd_tally_time(PRIMARY, HPCBD_TALLY_SLICED, true);
    seconds += 4;
    ck_assert_uint_eq(known(PRIMARY, HPCB_CLASS_PRIMARY).steps, 2);
    ck_assert_uint_eq(known(PRIMARY, HPCB_CLASS_PRIMARY).requeued, 3);
    ck_assert_uint_eq(known(PRIMARY, HPCB_CLASS_PRIMARY).sliced_us, 4000000);
}
END_TEST

/* A daemon that was started again goes on from what the one before has seen. */
START_TEST(what_was_seen_before_counts)
{
    hpcb_restraint_t found = hpcb_restraint_unknown;

    found.throttled_us = 5000000;
    hpcbd_tally_time(GUEST, HPCBD_TALLY_THROTTLED, true);
    seconds += 2;
    hpcbd_tally_add(GUEST, HPCB_CLASS_GUEST, &found);
    ck_assert_uint_eq(found.throttled_us, 7000000);
    ck_assert_uint_eq(found.starved_us, 0);
}
END_TEST

/* Nothing has happened to it, or it is no concern of its class. */
START_TEST(nothing_is_zero_and_others_are_unknown)
{
    hpcb_restraint_t guest = known(GUEST, HPCB_CLASS_GUEST),
                     primary = known(PRIMARY, HPCB_CLASS_PRIMARY),
                     unknown = known(PRIMARY, HPCB_CLASS_UNKNOWN);

    ck_assert_uint_eq(guest.throttled_us, 0);
    ck_assert_uint_eq(guest.steps, HPCB_RESTRAINT_UNKNOWN);
    ck_assert_uint_eq(guest.sliced_us, HPCB_RESTRAINT_UNKNOWN);
    ck_assert_uint_eq(primary.steps, 0);
    ck_assert_uint_eq(primary.requeued, 0);
    ck_assert_uint_eq(primary.stopped_us, HPCB_RESTRAINT_UNKNOWN);
    ck_assert_uint_eq(unknown.steps, HPCB_RESTRAINT_UNKNOWN);
    ck_assert_uint_eq(unknown.starved_us, HPCB_RESTRAINT_UNKNOWN);
}
END_TEST

START_TEST(who_is_forgotten_begins_anew)
{
    hpcbd_tally_step(PRIMARY);
    hpcbd_tally_step(GUEST);
    hpcbd_tally_forget(PRIMARY);
    ck_assert_uint_eq(known(PRIMARY, HPCB_CLASS_PRIMARY).steps, 0);
    ck_assert_uint_eq(known(GUEST, HPCB_CLASS_PRIMARY).steps, 1);
}
END_TEST

START_TEST(more_jobs_than_there_are_places_for)
{
    for (uint32_t id = 100; id < 100 + 2 * HPCBD_JOBS_MAX; id++)
        hpcbd_tally_step(id);
    ck_assert_uint_eq(known(100, HPCB_CLASS_PRIMARY).steps, 1);
    ck_assert_uint_eq(known(99 + 2 * HPCBD_JOBS_MAX, HPCB_CLASS_PRIMARY).steps, 0);
    for (uint32_t id = 100; id < 100 + 2 * HPCBD_JOBS_MAX; id++)
        hpcbd_tally_forget(id);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tally");
    TCase *tc = scratch_case("tally");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, times_add_up);
    tcase_add_test(tc, steps_and_requeues_are_counted);
    tcase_add_test(tc, what_was_seen_before_counts);
    tcase_add_test(tc, nothing_is_zero_and_others_are_unknown);
    tcase_add_test(tc, who_is_forgotten_begins_anew);
    tcase_add_test(tc, more_jobs_than_there_are_places_for);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
