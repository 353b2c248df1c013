/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/about.h"
#include "common/file.h"
#include "tests/common/scratch.h"

static void make_state(void)
{
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("state/jobs"), 0755, NULL), 0);
}

START_TEST(what_is_saved_is_loaded)
{
    hpcb_about_t about = {.restart = 3,
                          .nodes = 2,
                          .het_job = 9,
                          .spread = 1,
                          .submit = 1700000000,
                          .user = "ada",
                          .name = "my job = x",
                          .executable = "a.out"};
    hpcb_about_t back;

    make_state();
    ck_assert_int_eq(hpcb_about_save(scratch("state"), 7, &about, NULL), 0);
    ck_assert_int_eq(hpcb_about_load(scratch("state"), 7, &back, NULL), 0);
    ck_assert_mem_eq(&about, &back, sizeof(back));
    ck_assert_int_eq(hpcb_about_add_array(scratch("state"), 7, 70, 0, NULL), 0);
    ck_assert_int_eq(hpcb_about_load(scratch("state"), 7, &back, NULL), 0);
    ck_assert_uint_eq(back.array_job, 70);
    ck_assert_str_eq(back.name, about.name);
}
END_TEST

START_TEST(nothing_is_known_of_a_job_without_file)
{
    static const hpcb_about_t nothing;
    hpcb_about_t back = {.restart = 5};

    make_state();
    ck_assert_int_eq(hpcb_about_load(scratch("state"), 7, &back, NULL), 0);
    ck_assert_mem_eq(&nothing, &back, sizeof(back));
}
END_TEST

START_TEST(others_cannot_read_it)
{
    static const hpcb_about_t about = {.name = "secret"};

    make_state();
    ck_assert_int_eq(hpcb_about_add_array(scratch("state"), 8, 70, 0, NULL), 0);
    ck_assert_int_eq(mode_of(scratch("state/jobs/8.about")), 0600);
    ck_assert_int_eq(hpcb_about_save(scratch("state"), 7, &about, NULL), 0);
    ck_assert_int_eq(mode_of(scratch("state/jobs/7.about")), 0600);
}
END_TEST

START_TEST(what_others_may_write_to_is_not_believed)
{
    hpcb_about_t about = {.restart = 1};
    hpcb_error_t err = {""};

    make_state();
    ck_assert_int_eq(hpcb_about_save(scratch("state"), 7, &about, NULL), 0);
    ck_assert_int_eq(chmod(scratch("state/jobs/7.about"), 0666), 0);
    ck_assert_int_eq(hpcb_about_load(scratch("state"), 7, &about, &err), -1);
    ck_assert_uint_eq(about.restart, 0);
}
END_TEST

START_TEST(the_environment_is_read_strictly)
{
    hpcb_about_t about;

    setenv("SLURM_JOB_RESTART_COUNT", "2", 1);
    setenv("SLURM_JOB_NUM_NODES", "0x4", 1);
    setenv("SLURM_HET_JOB_ID", "-1", 1);
    setenv("SLURM_JOB_USER", "ada\n", 1);
    setenv("SPANK_HPCB_SUBMIT", "1700000000", 1);
    setenv("SPANK_HPCB_PROGRAM", "CG/cg.B", 1);
    setenv("SPANK_HPCB_SPREAD", "1", 1);
    hpcb_about_from_env(&about);
    ck_assert_uint_eq(about.restart, 2);
    ck_assert_uint_eq(about.nodes, 0);
    ck_assert_uint_eq(about.het_job, 0);
    ck_assert_str_eq(about.user, "");
    ck_assert_uint_eq(about.submit, 1700000000);
    ck_assert_uint_eq(about.spread, 1);
    ck_assert_str_eq(about.name, "CG");
    ck_assert_str_eq(about.executable, "cg.B");
}
END_TEST

START_TEST(a_program_without_slash_is_both)
{
    hpcb_about_t about = {.name = "old"};
    char longer[HPCB_ABOUT_NAME_MAX + 1];

    hpcb_about_program(&about, "cg.B");
    ck_assert_str_eq(about.name, "cg.B");
    ck_assert_str_eq(about.executable, "cg.B");
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    hpcb_about_program(&about, longer);
    hpcb_about_program(&about, "a\nb");
    ck_assert_str_eq(about.name, "cg.B");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("about");
    TCase *test = scratch_case("about");

    tcase_add_test(test, what_is_saved_is_loaded);
    tcase_add_test(test, nothing_is_known_of_a_job_without_file);
    tcase_add_test(test, others_cannot_read_it);
    tcase_add_test(test, what_others_may_write_to_is_not_believed);
    tcase_add_test(test, the_environment_is_read_strictly);
    tcase_add_test(test, a_program_without_slash_is_both);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
