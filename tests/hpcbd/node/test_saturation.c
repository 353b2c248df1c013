/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the probe has found, as the daemon keeps it. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hpcbd/node/saturation.h"
#include "tests/common/scratch.h"

#define NOW 1000000

static const hpcbd_saturation_t saved = {
    .time = NOW,
    .verdict = {.level = HPCB_SATURATION_FULL,
                .part = 400,
                .low = 380,
                .high = 420,
                .bursts = 30,
                .dropped = 2},
};

START_TEST(a_verdict_is_kept_for_a_while)
{
    const char *dir = scratch_dir();
    hpcbd_saturation_t read;
    hpcb_error_t err;

    ck_assert_int_eq(hpcbd_saturation_save(dir, &saved, &err), 0);
    hpcbd_saturation_load(dir, NOW + 5, &read);
    ck_assert_int_eq(read.verdict.level, HPCB_SATURATION_FULL);
    ck_assert_uint_eq(read.verdict.part, 400);
    ck_assert_uint_eq(read.verdict.low, 380);
    ck_assert_uint_eq(read.verdict.high, 420);
    ck_assert_uint_eq(read.verdict.bursts, 30);
    ck_assert_uint_eq(read.verdict.dropped, 2);
    ck_assert_str_eq(read.why, "");
    hpcbd_saturation_load(dir, NOW + HPCBD_SATURATION_STALE_SECONDS, &read);
    ck_assert_int_eq(read.verdict.level, HPCB_SATURATION_UNKNOWN);
    ck_assert_str_ne(read.why, "");
    hpcbd_saturation_load(dir, NOW - 1, &read);
    ck_assert_int_eq(read.verdict.level, HPCB_SATURATION_UNKNOWN);
}
END_TEST

START_TEST(a_reason_is_kept)
{
    hpcbd_saturation_t other = {.time = NOW}, read;
    const char *dir = scratch_dir();

    strcpy(other.why, "no CPU was idle for long enough");
    ck_assert_int_eq(hpcbd_saturation_save(dir, &other, NULL), 0);
    hpcbd_saturation_load(dir, NOW, &read);
    ck_assert_int_eq(read.verdict.level, HPCB_SATURATION_UNKNOWN);
    ck_assert_str_eq(read.why, other.why);
}
END_TEST

static const char *const damaged[] = {
    "",
    "time 1000000 level 3",
    "time 1000000 level 9 part 1 low 1 high 1 bursts 1 dropped 0\n",
    "time 1000000 level 3 part 1 low 1 high 5000 bursts 1 dropped 0\n",
};

START_TEST(damaged_files_say_nothing)
{
    const char *dir = scratch_dir();
    hpcbd_saturation_t read;

    put_file(scratch("saturation"), damaged[_i]);
    hpcbd_saturation_load(dir, NOW, &read);
    ck_assert_int_eq(read.verdict.level, HPCB_SATURATION_UNKNOWN);
    ck_assert_uint_eq(read.verdict.part, 0);
    ck_assert_str_ne(read.why, "");
}
END_TEST

START_TEST(the_idle_node_is_that_of_this_hardware)
{
    hpcb_saturation_idle_t idle[2] = {{12, 34}, {56, 78}}, read[3];
    const char *dir = scratch_dir();
    char text[128];

    hpcbd_saturation_idle_load(dir, read, 2);
    ck_assert_uint_eq(read[0].memory, 0);
    ck_assert_int_eq(hpcbd_saturation_idle_save(dir, idle, 2, NULL), 0);
    hpcbd_saturation_idle_load(dir, read, 2);
    ck_assert(read[0].memory == 12 && read[0].cache == 34);
    ck_assert(read[1].memory == 56 && read[1].cache == 78);
    /* A NUMA node more. */
    hpcbd_saturation_idle_load(dir, read, 3);
    ck_assert_uint_eq(read[0].memory, 0);
    snprintf(text, sizeof(text), "cpus %ld pages %ld memory 1 cache 2\n",
             sysconf(_SC_NPROCESSORS_ONLN) + 1, sysconf(_SC_PHYS_PAGES));
    put_file(scratch("saturation.idle"), text);
    hpcbd_saturation_idle_load(dir, read, 1);
    ck_assert_uint_eq(read[0].memory, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("saturation");
    TCase *test = scratch_case("saturation");

    tcase_add_test(test, a_verdict_is_kept_for_a_while);
    tcase_add_test(test, a_reason_is_kept);
    tcase_add_loop_test(test, damaged_files_say_nothing, 0,
                        sizeof(damaged) / sizeof(damaged[0]));
    tcase_add_test(test, the_idle_node_is_that_of_this_hardware);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
