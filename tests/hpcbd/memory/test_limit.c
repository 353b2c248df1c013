/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A directory stands for the guest's group of the memory controller. */
#include "config.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "hpcbd/memory/limit.h"
#include "tests/common/tmp.h"

#define MIB (UINT64_C(1) << 20)
#define JOB 7

static char tmp[TEST_TMP_MAX], group[TEST_TMP_MAX + 16], state_dir[TEST_TMP_MAX + 16];

static void put(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    ck_assert_int_eq(hpcb_file_mkdirs(dir, 0755, NULL), 0);
    ck_assert_int_eq(hpcb_file_replace(path, text, strlen(text), 0644, NULL), 0);
}

static void is(const char *name, const char *text)
{
    char path[PATH_MAX + 64], now[64] = "";

    snprintf(path, sizeof(path), "%s/%s", group, name);
    ck_assert_int_ge(hpcb_file_read(path, now, sizeof(now), NULL), 0);
    now[strcspn(now, "\n")] = '\0';
    ck_assert_str_eq(now, text);
}

static void set_up(void)
{
    test_tmp_dir(tmp);
    snprintf(group, sizeof(group), "%s/group", tmp);
    snprintf(state_dir, sizeof(state_dir), "%s/state", tmp);
    put(group, "memory.limit_in_bytes", "1073741824\n");
    put(group, "memory.max", "max\n");
    put(group, "memory.events", "low 0\noom 1\noom_kill 1\noom_group_kill 0\n");
}

static void limit_to(hpcbd_limit_t *limit, int version, uint64_t bytes)
{
    hpcb_error_t err;

    ck_assert_msg(hpcbd_limit_look(limit, version, group, &err) == 0, "%s", err.text);
    ck_assert_msg(hpcbd_limit_set(limit, state_dir, JOB, version, group, bytes, &err) ==
                      0,
                  "%s", err.text);
}

START_TEST(a_limit_above_slurms_changes_nothing)
{
    hpcbd_limit_t limit = {0};

    limit_to(&limit, 1, 2048 * MIB);
    ck_assert_uint_eq(limit.own, 1024 * MIB);
    is("memory.limit_in_bytes", "1073741824");
}
END_TEST

START_TEST(slurms_limit_comes_back_when_there_is_room)
{
    hpcbd_limit_t limit = {0};

    limit_to(&limit, 1, 512 * MIB);
    is("memory.limit_in_bytes", "536870912");
    limit_to(&limit, 1, 513 * MIB);
    is("memory.limit_in_bytes", "536870912");
    limit_to(&limit, 1, 256 * MIB);
    is("memory.limit_in_bytes", "268435456");
    ck_assert_uint_eq(limit.own, 1024 * MIB);
    limit_to(&limit, 1, 1024 * MIB);
    is("memory.limit_in_bytes", "1073741824");
}
END_TEST

/* What the kernel was not asked for is not missed. */
START_TEST(reclaim_is_asked_for_in_parts)
{
    put(group, "memory.reclaim", "");
    ck_assert_uint_eq(hpcbd_limit_reclaim(2, group, 150 * MIB), 64 * MIB);
    is("memory.reclaim", "67108864");
    ck_assert_uint_eq(hpcbd_limit_reclaim(2, group, 3 * MIB), 3 * MIB);
    is("memory.reclaim", "3145728");
    ck_assert_uint_eq(hpcbd_limit_reclaim(1, group, 150 * MIB), 150 * MIB);
    is("memory.reclaim", "3145728");
}
END_TEST

START_TEST(what_a_killed_guard_left_behind_is_undone)
{
    hpcbd_limit_t limit = {0}, another = {0};
    hpcb_error_t err;

    limit_to(&limit, 2, 512 * MIB);
    is("memory.max", "536870912");
    ck_assert_msg(hpcb_undo_replay_lent(state_dir, &err) == 1, "%s", err.text);
    is("memory.max", "max");
    limit_to(&another, 2, 256 * MIB);
    ck_assert(another.own == UINT64_MAX);
    hpcbd_limit_end(&another, state_dir, JOB);
    is("memory.max", "max");
    hpcbd_limit_end(&limit, state_dir, JOB);
}
END_TEST

/* A new step. */
START_TEST(slurm_may_write_its_limit_again)
{
    hpcbd_limit_t limit = {0};

    limit_to(&limit, 1, 512 * MIB);
    put(group, "memory.limit_in_bytes", "1073741824\n");
    limit_to(&limit, 1, 512 * MIB);
    is("memory.limit_in_bytes", "536870912");
    hpcbd_limit_end(&limit, state_dir, JOB);
    is("memory.limit_in_bytes", "1073741824");
}
END_TEST

START_TEST(a_kill_at_our_limit_is_seen)
{
    hpcbd_limit_t limit = {0};

    ck_assert(!hpcbd_limit_killed(&limit, 2, group));
    limit_to(&limit, 2, 512 * MIB);
    ck_assert(!hpcbd_limit_killed(&limit, 2, group));
    put(group, "memory.events", "low 0\noom 2\noom_kill 2\noom_group_kill 0\n");
    ck_assert(hpcbd_limit_killed(&limit, 2, group));
    hpcbd_limit_end(&limit, state_dir, JOB);
}
END_TEST

START_TEST(a_kill_without_our_limit_is_seen)
{
    hpcbd_limit_t limit = {0};

    put(group, "memory.events", "low 0\noom 2\noom_kill 2\noom_group_kill 0\n");
    ck_assert_int_eq(hpcbd_limit_look(&limit, 2, group, NULL), 0);
    ck_assert(!hpcbd_limit_killed(&limit, 2, group));
    put(group, "memory.events", "low 0\noom 2\noom_kill 3\noom_group_kill 0\n");
    ck_assert_int_eq(hpcbd_limit_look(&limit, 2, group, NULL), 0);
    ck_assert(hpcbd_limit_killed(&limit, 2, group));
}
END_TEST

START_TEST(kills_that_were_forgotten_do_not_count)
{
    hpcbd_limit_t limit = {0};

    ck_assert_int_eq(hpcbd_limit_look(&limit, 2, group, NULL), 0);
    put(group, "memory.events", "low 0\noom 2\noom_kill 3\noom_group_kill 0\n");
    hpcbd_limit_forget_kills(&limit, 2, group);
    ck_assert(!hpcbd_limit_killed(&limit, 2, group));
    put(group, "memory.events", "low 0\noom 2\noom_kill 4\noom_group_kill 0\n");
    ck_assert(hpcbd_limit_killed(&limit, 2, group));
}
END_TEST

/* With the groups of a step on v1. */
START_TEST(kills_that_are_gone_hide_none)
{
    hpcbd_limit_t limit = {0};
    char task[sizeof(group) + 32];

    snprintf(task, sizeof(task), "%s/step_0", group);
    put(task, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    ck_assert_int_eq(hpcbd_limit_look(&limit, 1, group, NULL), 0);
    put(task, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    ck_assert(!hpcbd_limit_killed(&limit, 1, group));
    put(task, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    ck_assert(hpcbd_limit_killed(&limit, 1, group));
}
END_TEST

/* On v1 the kernel counts in the group of the process that was killed. */
START_TEST(a_kill_below_the_job_is_seen_on_v1)
{
    hpcbd_limit_t limit = {0};
    char task[sizeof(group) + 32];

    snprintf(task, sizeof(task), "%s/step_0/task_0", group);
    put(task, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    limit_to(&limit, 1, 512 * MIB);
    ck_assert(!hpcbd_limit_killed(&limit, 1, group));
    put(task, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    ck_assert(hpcbd_limit_killed(&limit, 1, group));
    hpcbd_limit_end(&limit, state_dir, JOB);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("limit");
    TCase *tcase = tcase_create("limit");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, a_limit_above_slurms_changes_nothing);
    tcase_add_test(tcase, slurms_limit_comes_back_when_there_is_room);
    tcase_add_test(tcase, reclaim_is_asked_for_in_parts);
    tcase_add_test(tcase, what_a_killed_guard_left_behind_is_undone);
    tcase_add_test(tcase, slurm_may_write_its_limit_again);
    tcase_add_test(tcase, a_kill_at_our_limit_is_seen);
    tcase_add_test(tcase, a_kill_without_our_limit_is_seen);
    tcase_add_test(tcase, kills_that_were_forgotten_do_not_count);
    tcase_add_test(tcase, kills_that_are_gone_hide_none);
    tcase_add_test(tcase, a_kill_below_the_job_is_seen_on_v1);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
