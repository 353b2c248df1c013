/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The CPUs that Slurm lets a job use (cgroup/steps.h), by copies of snapshots. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "cgroup/steps.h"
#include "tests/cgroup/fake_kernel.h"

#define V2_JOB "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4"

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

int main(void)
{
    Suite *suite = suite_create("cgroup_steps");
    TCase *tc = tcase_create("cgroup_steps");
    SRunner *runner;
    int failed;

    tcase_add_test(tc, v2_counts_what_slurm_has_written);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
