/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The CPUs that Slurm lets a job use and its processes (cgroup/steps.h), by copies of
 * snapshots.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/steps.h"
#include "common/file.h"
#include "tests/cgroup/fake_kernel.h"

#define V2_JOB "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4"

#define MANY  40000
#define FIRST 4000000 /* ids of seven digits, as on a node that has run for long */

static hpcb_node_t *node;
static char job[PATH_MAX];

static void begin(const char *snapshot, const char *dir)
{
    const char *root = fake_start(snapshot);

    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
    ck_assert_int_lt(snprintf(job, sizeof(job), "%s/%s", root, dir), PATH_MAX);
}

static void end(void)
{
    hpcb_node_close(node);
    fake_stop();
}

static const char *cpus_of_job(void)
{
    static char list[64];
    hpcb_cpus_t cpus;

    if (hpcb_steps_cpus(node, job, &cpus) < 0)
        return errno == ENOENT ? "none" : "error";
    ck_assert_int_eq(hpcb_cpus_list(&cpus, list, sizeof(list)), 0);
    return list;
}

START_TEST(v2_counts_what_slurm_has_written)
{
    begin("v2-slurm22", V2_JOB);
    fake_write(V2_JOB "/cpuset.cpus", "2-3\n");
    fake_write(V2_JOB "/cpuset.cpus.effective", "3\n");
    ck_assert_str_eq(cpus_of_job(), "3");
    /* ConstrainCores=no: the controller is on, and all CPUs are the job's. */
    fake_write(V2_JOB "/cpuset.cpus", "\n");
    fake_write(V2_JOB "/cpuset.cpus.effective", "0-3\n");
    ck_assert_str_eq(cpus_of_job(), "none");
    end();
}
END_TEST

/* The path of the list of the step's processes, where the directory is made. */
static void list_of_step(char path[PATH_MAX])
{
    ck_assert_int_lt(snprintf(path, PATH_MAX, "%s/step_0/user/task_0", job), PATH_MAX);
    ck_assert_int_eq(hpcb_file_mkdirs(path, 0755, NULL), 0);
    strcat(path, "/cgroup.procs");
}

static void list_many(void)
{
    char path[PATH_MAX];
    FILE *file;

    list_of_step(path);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < MANY; i++)
        fprintf(file, "%d\n", FIRST + i);
    ck_assert_int_eq(fclose(file), 0);
}

static int add_pid(pid_t pid, void *arg)
{
    unsigned long long *sum = arg;

    *sum += (unsigned long long)pid;
    return 0;
}

START_TEST(no_list_is_too_long)
{
    unsigned long long sum = 0;

    begin("v2-slurm22", V2_JOB);
    list_many();
    ck_assert_int_eq(hpcb_steps_busy(node, job, add_pid, &sum), 0);
    ck_assert_uint_eq(sum, (unsigned long long)MANY * FIRST +
                               (unsigned long long)MANY * (MANY - 1) / 2);
    end();
}
END_TEST

START_TEST(what_the_kernel_cannot_list_is_an_error)
{
    unsigned long long sum = 0;
    char path[PATH_MAX];
    hpcb_error_t err;

    begin("v2-slurm22", V2_JOB);
    list_many();
    list_of_step(path);
    ck_assert_int_eq(truncate(path, 2 * (off_t)HPCB_KNOB_ALL_MAX), 0);
    ck_assert_ptr_null(hpcb_knob_read_all(path, "", &err));
    ck_assert_int_eq(errno, EFBIG);
    ck_assert_int_eq(hpcb_steps_each(node, job, add_pid, &sum), -1);
    ck_assert_int_eq(errno, EFBIG);
    ck_assert_uint_eq(sum, 0);
    end();
}
END_TEST

static int read_errno;

static ssize_t fail_to_read(const char *path, char *buf, size_t size, hpcb_error_t *err)
{
    (void)buf;
    (void)size;
    errno = read_errno;
    return hpcb_error(err, "%s", path);
}

START_TEST(what_cannot_be_read_is_an_error_and_not_empty)
{
    const hpcb_knob_ops_t failing = {.read = fail_to_read};
    const hpcb_knob_ops_t *before;
    unsigned long long sum = 0;

    begin("v2-slurm22", V2_JOB);
    list_many();
    before = hpcb_knob_set_ops(&failing);
    read_errno = ENOMEM;
    ck_assert_int_eq(hpcb_steps_each(node, job, add_pid, &sum), -1);
    ck_assert_int_eq(errno, ENOMEM);
    /* A group that has gone, and a threaded one. */
    read_errno = ENODEV;
    ck_assert_int_eq(hpcb_steps_each(node, job, add_pid, &sum), 0);
    read_errno = EOPNOTSUPP;
    ck_assert_int_eq(hpcb_steps_each(node, job, add_pid, &sum), 0);
    hpcb_knob_set_ops(before);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cgroup_steps");
    TCase *tc = tcase_create("cgroup_steps");
    SRunner *runner;
    int failed;

    tcase_add_test(tc, v2_counts_what_slurm_has_written);
    tcase_add_test(tc, no_list_is_too_long);
    tcase_add_test(tc, what_the_kernel_cannot_list_is_an_error);
    tcase_add_test(tc, what_cannot_be_read_is_an_error_and_not_empty);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
