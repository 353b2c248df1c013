/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Guests that the guard sends away (hpcbd/harm/company.c), with a clock of the test's.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/about.h"
#include "hpcbd/harm/company.h"
#include "policy/fitness.h"
#include "tests/common/scratch.h"

#define NOW INT64_C(1700000000)

static hpcbd_registry_t registry;
static hpcbd_job_t jobs[40];
static hpcb_company_t found;
static int64_t now;

time_t __wrap_time(time_t *at);
time_t __wrap_time(time_t *at)
{
    if (at)
        *at = now;
    return now;
}

/* The program as job_submit writes it; "": not known. */
static void add_job(hpcb_class_t klass, uint32_t job_id, uid_t uid, const char *program)
{
    hpcbd_job_t *job = &jobs[registry.count];
    hpcb_about_t about = {0};
    hpcb_error_t err;

    *job = (hpcbd_job_t){.state = {.job_id = job_id, .klass = klass, .uid = uid}};
    registry.jobs[registry.count++] = job;
    if (!*program)
        return;
    hpcb_about_program(&about, program);
    ck_assert_msg(hpcb_about_save(scratch("run"), job_id, &about, &err) == 0, "%s",
                  err.text);
}

static void begin(void)
{
    ck_assert_int_eq(mkdir(scratch("run"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch("run/jobs"), 0755), 0);
    registry.count = 0;
    now = NOW;
    add_job(HPCB_CLASS_PRIMARY, 1, 1001, "solver/wrf.exe");
    add_job(HPCB_CLASS_PRIMARY, 2, 1002, "other");
}

static int load(void)
{
    return hpcbd_company_load(scratch("run"), now, &found);
}

/* Because of the first one of the jobs. */
static void remember(void)
{
    const hpcbd_job_t *guests[40];
    size_t count = 0;

    for (size_t i = 0; i < registry.count; i++)
        if (registry.jobs[i]->state.klass == HPCB_CLASS_GUEST)
            guests[count++] = registry.jobs[i];
    hpcbd_company_remember(scratch("run"), registry.jobs[0], guests, count);
}

static const hpcb_company_pair_t *pair_of(uint32_t uid, const char *program)
{
    for (size_t i = 0; i < found.count; i++)
        if (found.pairs[i].guest == hpcb_fit_program(uid, program))
            return &found.pairs[i];
    ck_abort_msg("%s is not there", program);
    return NULL;
}

/* By the numbers by which placement knows them: select/demand.c. */
START_TEST(programs_are_those_of_placement)
{
    const hpcb_company_pair_t *pair;

    begin();
    ck_assert_int_lt(load(), 0);
    add_job(HPCB_CLASS_GUEST, 3, 1003, "sweep/run.sh");
    remember();
    ck_assert_int_eq(load(), 0);
    ck_assert_uint_eq(found.count, 1);
    pair = pair_of(1003, "sweep/run.sh");
    ck_assert_uint_eq(pair->primary, hpcb_fit_program(1001, "solver/wrf.exe"));
    ck_assert_uint_eq(pair->primary_uid, 1001);
    ck_assert_uint_eq(pair->guest_uid, 1003);
    ck_assert_int_eq(pair->time, NOW);
    ck_assert_uint_eq(pair->weight, HPCB_COMPANY_ONE);
    ck_assert_int_eq(mode_of(scratch("run/" HPCB_COMPANY_FILE)), 0644);
}
END_TEST

/* A name that is the executable's, too, stands alone in the tag. */
START_TEST(a_name_alone)
{
    begin();
    add_job(HPCB_CLASS_GUEST, 3, 1003, "run.sh");
    remember();
    ck_assert_int_eq(load(), 0);
    pair_of(1003, "run.sh");
}
END_TEST

/* Of four guests, two of one program; one is a stranger, who is guilty in part, too. */
START_TEST(several_guests_are_guilty_in_part)
{
    begin();
    add_job(HPCB_CLASS_GUEST, 3, 1003, "a");
    add_job(HPCB_CLASS_GUEST, 4, 1003, "b");
    add_job(HPCB_CLASS_GUEST, 5, 1003, "b");
    add_job(HPCB_CLASS_GUEST, 6, 1004, "");
    remember();
    ck_assert_int_eq(load(), 0);
    ck_assert_uint_eq(found.count, 2);
    ck_assert_uint_eq(pair_of(1003, "a")->weight, HPCB_COMPANY_ONE / 4);
    ck_assert_uint_eq(pair_of(1003, "b")->weight, HPCB_COMPANY_ONE / 2);
}
END_TEST

START_TEST(who_is_not_known_is_left_out)
{
    begin();
    registry.count = 0;
    add_job(HPCB_CLASS_PRIMARY, 7, 1001, "");
    add_job(HPCB_CLASS_GUEST, 3, 1003, "a");
    remember();
    ck_assert_int_lt(load(), 0);
}
END_TEST

START_TEST(for_an_hour)
{
    begin();
    add_job(HPCB_CLASS_GUEST, 3, 1003, "a");
    remember();
    now += HPCB_COMPANY_HOUR;
    ck_assert_int_eq(load(), 0);
    now++;
    ck_assert_int_lt(load(), 0);
    add_job(HPCB_CLASS_GUEST, 4, 1003, "b");
    remember();
    ck_assert_int_eq(load(), 0);
    ck_assert_uint_eq(found.count, 2);
    ck_assert_int_eq(pair_of(1003, "a")->time, now);
    ck_assert_uint_eq(pair_of(1003, "a")->weight, HPCB_COMPANY_ONE / 2);
}
END_TEST

START_TEST(more_guests_than_there_is_a_place_for)
{
    char name[16];

    begin();
    for (uint32_t i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "p%u", i);
        add_job(HPCB_CLASS_GUEST, 10 + i, 1003, name);
    }
    remember();
    ck_assert_int_eq(load(), 0);
    ck_assert_uint_gt(found.count, 10);
    ck_assert_uint_lt(found.count, 30);
}
END_TEST

START_TEST(another_file_is_replaced)
{
    begin();
    put_file(scratch("run/" HPCB_COMPANY_FILE), "nonsense");
    ck_assert_int_lt(load(), 0);
    add_job(HPCB_CLASS_GUEST, 3, 1003, "a");
    remember();
    ck_assert_int_eq(load(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("company");
    TCase *tc = scratch_case("company");

    tcase_add_test(tc, programs_are_those_of_placement);
    tcase_add_test(tc, a_name_alone);
    tcase_add_test(tc, several_guests_are_guilty_in_part);
    tcase_add_test(tc, who_is_not_known_is_left_out);
    tcase_add_test(tc, for_an_hour);
    tcase_add_test(tc, more_guests_than_there_is_a_place_for);
    tcase_add_test(tc, another_file_is_replaced);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
