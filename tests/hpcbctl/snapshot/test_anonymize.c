/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hpcbctl/snapshot/anonymize.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static hpcb_anonymize_t *names;

static void begin(void)
{
    names = hpcb_anonymize_open(false, "guests_of_n17");
    ck_assert_ptr_nonnull(names);
}

static void end(void)
{
    hpcb_anonymize_close(names);
}

static const char *path_of(const char *path)
{
    static char out[PATH_MAX];

    ck_assert_msg(hpcb_anonymize_path(names, path, out, sizeof(out)) == 0, "%s", path);
    return out;
}

static const struct {
    const char *path;
    const char *expected;
} paths[] = {
    {"", ""},
    {"/", "/"},
    {"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct"},
    {"/slurm_n17/uid_2001/job_4711/step_0/task_0",
     "/slurm_node1/uid_1001/job_1/step_0/task_0"},
    {"/slurm/uid_0/job_4711/step_batch", "/slurm/uid_0/job_1/step_batch"},
    {"/system.slice/n17_slurmstepd.scope/job_4711/step_3+1/user/task_special",
     "/system.slice/node1_slurmstepd.scope/job_1/step_3+1/user/task_special"},
    {"/system.slice/slurmstepd.scope/s8B9M7Y1A9MR00/step_extern/user",
     "/system.slice/slurmstepd.scope/s0000000000001/step_extern/user"},
    {"/guests_of_n17/job_4711", "/hpcb_guest/job_1"},
    {"/hpcb/job_4711/batch.0", "/hpcb/job_1/batch.0"},
    {"/hpcb/job_4711/3+1.12", "/hpcb/job_1/3+1.12"},
    {"/user.slice/user-2001.slice/alice", "/user.slice/group1/group2"},
    {"/../../x", "/../../group1"},
    {"a//b/", "group1//group2/"},
    /* Nearly what is known. */
    {"/job_", "/group1"},
    {"/job_12x", "/group1"},
    {"/job_123456789012", "/group1"},
    {"/uid_alice", "/group1"},
    {"/slurm_", "/group1"},
    {"/_slurmstepd.scope", "/group1"},
    {"/step_secret", "/group1"},
    {"/task_", "/group1"},
    {"/0.0.0", "/group1"},
    {"/host.0", "/group1"},
    {"/s8b9M7Y1A9MR00", "/group1"},
    {"/s8B9M7Y1A9MR001", "/group1"},
    {"/cpu,alice", "/group1"},
    {"/user alice", "/group1"},
};

START_TEST(replaces_what_is_not_common)
{
    ck_assert_str_eq(path_of(paths[_i].path), paths[_i].expected);
    /* Again, and the same. */
    ck_assert_str_eq(path_of(paths[_i].path), paths[_i].expected);
}
END_TEST

START_TEST(tells_names_apart)
{
    ck_assert_str_eq(path_of("/job_7/job_8/job_7"), "/job_1/job_2/job_1");
    ck_assert_str_eq(path_of("/uid_5/uid_6/uid_5"), "/uid_1001/uid_1002/uid_1001");
    /* v1 and v2 name a node in different ways. */
    ck_assert_str_eq(path_of("/slurm_b/slurm_a/a_slurmstepd.scope"),
                     "/slurm_node1/slurm_node2/node2_slurmstepd.scope");
    ck_assert_str_eq(path_of("/sAAAAAAAAAAAAA/sBBBBBBBBBBBBB"),
                     "/s0000000000001/s0000000000002");
    ck_assert_uint_eq(hpcb_anonymize_jobs(names), 4);
}
END_TEST

START_TEST(keeps_names_on_request)
{
    hpcb_anonymize_t *kept = hpcb_anonymize_open(true, "g");
    char out[PATH_MAX];

    ck_assert_int_eq(hpcb_anonymize_path(kept,
                                         "/slurm_n17/uid_7/job_1/sAAAAAAAAAAAAA/x", out,
                                         sizeof(out)),
                     0);
    ck_assert_str_eq(out, "/slurm_n17/uid_7/job_1/sAAAAAAAAAAAAA/x");
    ck_assert_uint_eq(hpcb_anonymize_jobs(kept), 2);
    hpcb_anonymize_close(kept);
}
END_TEST

static const struct {
    const char *text;
    const char *expected;
} cgroups[] = {
    {"", ""},
    {"4:memory:/slurm_n17/uid_2001/job_4711/step_0\n1:name=systemd:/\n0::/\n",
     "4:memory:/slurm_node1/uid_1001/job_1/step_0\n1:name=systemd:/\n0::/\n"},
    {"12:cpu,cpuacct:/job_9 (deleted)\n", "12:cpu,cpuacct:/job_1 (deleted)\n"},
    {"3:name=alice:/x\n", "3:name=group1:/group2\n"},
    {"0::/../alice", "0::/../group1\n"},
    {"0::/a:b:c\n", "0::/group1\n"},
    {"secret\n1:cpu\nx:cpu:/\n1:cpu:relative\n1:cpu:\n\n:::\n", ""},
};

START_TEST(replaces_in_cgroup_files)
{
    char out[PATH_MAX];

    ck_assert_int_eq(hpcb_anonymize_cgroup(names, cgroups[_i].text, out, sizeof(out)),
                     0);
    ck_assert_str_eq(out, cgroups[_i].expected);
}
END_TEST

static const struct {
    const char *line;
    const char *expected; /* NULL: refused */
} mounts[] = {
    {"32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu",
     "32 31 0:0 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"},
    {"32 31 0:29 /docker/abc /sys/fs/cgroup rw - cgroup2 host17 rw,nsdelegate",
     "32 31 0:0 /docker/group1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"},
    {"33 31 0:30 / /sys/fs/cgroup/systemd rw - cgroup cgroup "
     "rw,release_agent=/opt/site/agent,name=systemd",
     "33 31 0:0 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"},
    {"34 31 0:31 / /home/alice rw - nfs4 10.1.2.3:/export/home rw,addr=10.1.2.3",
     "34 31 0:0 / /group1/group2 rw - other other rw\n"},
    {"5 4 0:1 /x\\040y /a\\040b rw - cgroup none rw,alice",
     "5 4 0:0 /group1 /group2 rw - cgroup cgroup rw,name=group3\n"},
    {"no mount", NULL},
    {"", NULL},
};

START_TEST(replaces_in_mounts)
{
    char line[512], out[1024];
    int rc;

    strcpy(line, mounts[_i].line);
    rc = hpcb_anonymize_mount(names, line, out, sizeof(out));
    ck_assert_int_eq(rc, mounts[_i].expected ? 0 : -1);
    if (rc == 0)
        ck_assert_str_eq(out, mounts[_i].expected);
}
END_TEST

START_TEST(escapes_kept_blanks)
{
    char line[] = "5 4 0:1 /x\\040y /a\\011b\\134c\\303\\244 rw - cgroup2 c rw",
         out[256];
    hpcb_anonymize_t *kept = hpcb_anonymize_open(true, "g");

    ck_assert_int_eq(hpcb_anonymize_mount(kept, line, out, sizeof(out)), 0);
    ck_assert_str_eq(
        out, "5 4 0:0 /x\\040y /a\\011b\\134c\\303\\244 rw - cgroup2 cgroup2 rw\n");
    hpcb_anonymize_close(kept);
}
END_TEST

START_TEST(has_limits)
{
    char out[64], path[64];
    int rc = 0;

    ck_assert_int_eq(hpcb_anonymize_path(names, "/alice", out, 4), -1);
    ck_assert_int_eq(errno, ENAMETOOLONG);
    ck_assert_int_eq(hpcb_anonymize_path(names, "/alice", out, 8), 0);
    for (int i = 0; rc == 0 && i < 10000; i++) {
        snprintf(path, sizeof(path), "/name%d", i);
        rc = hpcb_anonymize_path(names, path, out, sizeof(out));
    }
    ck_assert_int_eq(rc, -1);
    ck_assert_int_eq(errno, ENOSPC);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("anonymize");
    TCase *tcase = tcase_create("anonymize");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_loop_test(tcase, replaces_what_is_not_common, 0, COUNT(paths));
    tcase_add_test(tcase, tells_names_apart);
    tcase_add_test(tcase, keeps_names_on_request);
    tcase_add_loop_test(tcase, replaces_in_cgroup_files, 0, COUNT(cgroups));
    tcase_add_loop_test(tcase, replaces_in_mounts, 0, COUNT(mounts));
    tcase_add_test(tcase, escapes_kept_blanks);
    tcase_add_test(tcase, has_limits);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
