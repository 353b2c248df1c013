/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/ranks.h"
#include "common/state.h"
#include "tests/common/scratch.h"

static hpcb_ranks_t loaded;

static int load(uint32_t job, const char *step)
{
    return hpcb_ranks_load(scratch("state"), job, step, &loaded, NULL);
}

static void save(uint32_t job, const char *step, unsigned n)
{
    hpcb_ranks_t ranks = {.job_id = job, .cpus = 3, .n = n};

    strcpy(ranks.step, step);
    strcpy(ranks.policy, "dlrb:threshold=10");
    strcpy(ranks.page, "/dev/shm/x/n.1.0");
    for (unsigned i = 0; i < n; i++)
        ranks.task[i] = (hpcb_ranks_task_t){INT32_MAX, UINT64_MAX - i};
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("state/jobs"), 0755, NULL), 0);
    ck_assert_int_eq(hpcb_ranks_save(scratch("state"), &ranks, NULL), 0);
}

START_TEST(what_is_saved_is_loaded)
{
    ck_assert_int_eq(load(7, "0"), -1);
    ck_assert_int_eq(errno, ENOENT);
    save(7, "0", HPCB_RANKS_MAX);
    ck_assert_int_eq(load(7, "0"), 0);
    ck_assert_uint_eq(loaded.job_id, 7);
    ck_assert_str_eq(loaded.step, "0");
    ck_assert_str_eq(loaded.policy, "dlrb:threshold=10");
    ck_assert_str_eq(loaded.page, "/dev/shm/x/n.1.0");
    ck_assert_uint_eq(loaded.cpus, 3);
    ck_assert_uint_eq(loaded.n, HPCB_RANKS_MAX);
    ck_assert_int_eq(loaded.task[1].pid, INT32_MAX);
    ck_assert(loaded.task[1].start == UINT64_MAX - 1);
}
END_TEST

START_TEST(what_others_could_write_is_not_believed)
{
    save(7, "0", 2);
    ck_assert_int_eq(chmod(scratch("state/jobs/7.0.ranks"), 0666), 0);
    ck_assert_int_eq(load(7, "0"), -1);
    ck_assert_int_eq(errno, EPERM);
}
END_TEST

START_TEST(damaged_ones_are_refused)
{
    static const char *const bad[] = {
        "",
        "\n",
        "Policy=dlrb\n",
        "Policy=dlrb\nCpus=2\n",
        "Policy=dlrb\nCpus=2\nPage=relative\n",
        "Policy=dlrb\nCpus=-2\nPage=\n",
        "Cpus=2\nPolicy=dlrb\nPage=\n",
        "Policy=dlrb\nCpus=2\nPage=\n1\n",
        "Policy=dlrb\nCpus=2\nPage=\n0 1\n",
        "Policy=dlrb\nCpus=2\nPage=\n-1 1\n",
        "Policy=dlrb\nCpus=2\nPage=\n1 1 1\n",
        "Policy=dlrb\nCpus=2\nPage=\n1 1\n\n",
        "Policy=dlrb\nCpus=2\nPage=\n1 1",
        "Policy=dlrb\nCpus=2\nPage=\n2147483648 1\n",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(hpcb_ranks_parse(bad[i], strlen(bad[i]), &loaded) == -1,
                      "row %zu", i);
    ck_assert_int_eq(hpcb_ranks_parse("a\0b\n", 4, &loaded), -1);
}
END_TEST

START_TEST(more_ranks_than_can_be_are_refused)
{
    static char text[HPCB_RANKS_MAX * 8 + 64] = "Policy=dlrb\nCpus=2\nPage=\n";

    for (unsigned i = 0; i < HPCB_RANKS_MAX; i++)
        strcat(text, "1 1\n");
    ck_assert_int_eq(hpcb_ranks_parse(text, strlen(text), &loaded), 0);
    strcat(text, "1 1\n");
    ck_assert_int_eq(hpcb_ranks_parse(text, strlen(text), &loaded), -1);
}
END_TEST

static void note(uint32_t job, const char *step, uint64_t file, void *arg)
{
    char *seen = arg;

    ck_assert_uint_ne(file, 0);
    sprintf(seen + strlen(seen), "%u.%s ", (unsigned)job, step);
}

START_TEST(each_visits_ranks_alone)
{
    static const char *const others[] = {"7",         "7.usage",   "7.0.ranksx",
                                         "x.0.ranks", "0.0.ranks", "7.batch.ranks",
                                         "7..ranks"};
    char name[64], seen[256] = "";

    ck_assert_int_eq(hpcb_ranks_each(scratch("none"), note, seen, NULL), 0);
    save(7, "4294967295", 2);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        snprintf(name, sizeof(name), "state/jobs/%s", others[i]);
        ck_assert_int_eq(hpcb_file_replace(scratch(name), "x", 1, 0644, NULL), 0);
    }
    ck_assert_int_eq(hpcb_ranks_each(scratch("state"), note, seen, NULL), 0);
    ck_assert_str_eq(seen, "7.4294967295 ");
}
END_TEST

static void keep_file(uint32_t job, const char *step, uint64_t file, void *arg)
{
    (void)job;
    (void)step;
    *(uint64_t *)arg = file;
}

START_TEST(another_saving_is_another_file)
{
    uint64_t first = 0, second = 0;

    save(7, "0", 2);
    ck_assert_int_eq(hpcb_ranks_each(scratch("state"), keep_file, &first, NULL), 0);
    save(7, "0", 2);
    ck_assert_int_eq(hpcb_ranks_each(scratch("state"), keep_file, &second, NULL), 0);
    ck_assert_uint_ne(first, second);
}
END_TEST

START_TEST(they_go_with_the_step_and_with_the_job)
{
    save(7, "0", 2);
    ck_assert_int_eq(hpcb_ranks_remove(scratch("state"), 7, "0", NULL), 0);
    ck_assert_int_eq(load(7, "0"), -1);
    ck_assert_int_eq(hpcb_ranks_remove(scratch("state"), 7, "0", NULL), 0);
    save(7, "1", 2);
    ck_assert_int_eq(hpcb_state_remove(scratch("state"), 7, NULL), 0);
    ck_assert_int_eq(load(7, "1"), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ranks");
    TCase *tc = scratch_case("ranks");

    tcase_add_test(tc, what_is_saved_is_loaded);
    tcase_add_test(tc, what_others_could_write_is_not_believed);
    tcase_add_test(tc, damaged_ones_are_refused);
    tcase_add_test(tc, more_ranks_than_can_be_are_refused);
    tcase_add_test(tc, each_visits_ranks_alone);
    tcase_add_test(tc, another_saving_is_another_file);
    tcase_add_test(tc, they_go_with_the_step_and_with_the_job);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
