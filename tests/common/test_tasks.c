/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/tasks.h"
#include "tests/common/scratch.h"

static hpcb_task_usage_t loaded[HPCB_TASKS_MAX];

static size_t load(void)
{
    return hpcb_tasks_load(scratch("state"), 7, loaded);
}

static void add(const char *step, uint32_t first, size_t count)
{
    hpcb_task_usage_t tasks[HPCB_TASKS_MAX];

    for (size_t i = 0; i < count; i++) {
        tasks[i] = (hpcb_task_usage_t){
            .task = first + (uint32_t)i, .cpu_us = UINT64_MAX, .run_delay_us = 1};
        snprintf(tasks[i].step, sizeof(tasks[i].step), "%s", step);
    }
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("state/jobs"), 0755, NULL), 0);
    ck_assert_int_eq(hpcb_tasks_add(scratch("state"), 7, tasks, count, NULL), 0);
}

START_TEST(what_is_added_is_loaded)
{
    ck_assert_uint_eq(load(), 0);
    add("0", 0, 2);
    add("interactive", 5, 1);
    ck_assert_uint_eq(load(), 3);
    ck_assert_str_eq(loaded[0].step, "0");
    ck_assert_uint_eq(loaded[1].task, 1);
    ck_assert(loaded[1].cpu_us == UINT64_MAX);
    ck_assert_str_eq(loaded[2].step, "interactive");
}
END_TEST

START_TEST(a_job_has_a_limited_number)
{
    for (uint32_t i = 0; i < 50; i++)
        add("4294967295", i * 100, 100);
    ck_assert_uint_le(load(), HPCB_TASKS_MAX);
    ck_assert_uint_ge(load(), HPCB_TASKS_MAX / 2);
    ck_assert_uint_eq(loaded[99].task, 99);
}
END_TEST

START_TEST(lines_that_are_cut_short_are_passed_over)
{
    add("0", 0, 1);
    ck_assert_int_eq(
        hpcb_file_append(scratch("state/jobs/7.tasks"),
                         "\n0 1 12 3 en\n1 2\n\n0 x 1 1 end\n../x 1 1 1 end", 0644,
                         NULL),
        0);
    add("1", 0, 1);
    ck_assert_uint_eq(load(), 2);
    ck_assert_str_eq(loaded[1].step, "1");
}
END_TEST

START_TEST(what_others_may_write_to_is_not_believed)
{
    add("0", 0, 1);
    ck_assert_int_eq(chmod(scratch("state/jobs/7.tasks"), 0666), 0);
    ck_assert_uint_eq(load(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tasks");
    TCase *test = scratch_case("tasks");

    tcase_add_test(test, what_is_added_is_loaded);
    tcase_add_test(test, a_job_has_a_limited_number);
    tcase_add_test(test, lines_that_are_cut_short_are_passed_over);
    tcase_add_test(test, what_others_may_write_to_is_not_believed);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
