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
#include "cgroup/node.h"
#include "cgroup/parse.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/common/snapshot.h"
#include "tests/common/tmp.h"

#define CG "/sys/fs/cgroup"

typedef struct {
    const char *snapshot;
    int pid;
    hpcb_controller_t controller;
    int version;
    int error;        /* of task_dir */
    const char *task; /* below the snapshot */
    const char *job;  /* NULL: none */
} place_t;

static const place_t places[] = {
    {"v1-hybrid", 100, HPCB_CTL_CPU, 1, 0, CG "/cpu", NULL},
    {"v1-hybrid", 100, HPCB_CTL_MEMORY, 1, 0,
     CG "/memory/slurm_scb1/uid_7001/job_5/step_0/task_0",
     CG "/memory/slurm_scb1/uid_7001/job_5"},
    {"v1-hybrid", 101, HPCB_CTL_FREEZER, 1, 0,
     CG "/freezer/slurm_scb1/uid_7001/job_5/step_batch",
     CG "/freezer/slurm_scb1/uid_7001/job_5"},
    {"v1-hybrid", 102, HPCB_CTL_FREEZER, 1, 0, CG "/freezer/slurm_scb1/system", NULL},
    {"v1-hybrid", 100, HPCB_CTL_UNIFIED, 2, 0, CG "/unified", NULL},
    {"v1-hybrid", 999, HPCB_CTL_CPU, 1, ENOENT, NULL, NULL},
    {"v1-comounted", 100, HPCB_CTL_CPU, 1, 0,
     CG "/cpu,cpuacct/slurm/uid_1000/job_12/step_batch/task_0",
     CG "/cpu,cpuacct/slurm/uid_1000/job_12"},
    {"v1-comounted", 100, HPCB_CTL_CPUACCT, 1, 0,
     CG "/cpu,cpuacct/slurm/uid_1000/job_12/step_batch/task_0",
     CG "/cpu,cpuacct/slurm/uid_1000/job_12"},
    {"v1-comounted", 102, HPCB_CTL_CPU, 1, 0,
     CG "/cpu,cpuacct/system.slice/slurmd.service", NULL},
    {"v1-comounted", 100, HPCB_CTL_UNIFIED, 0, ENOENT, NULL, NULL},
    {"v1-namespaced", 100, HPCB_CTL_CPU, 1, 0, CG "/cpu", NULL},
    {"v1-namespaced", 100, HPCB_CTL_MEMORY, 1, 0,
     CG "/memory/slurm_scb1/uid_7001/job_5/step_0/task_0",
     CG "/memory/slurm_scb1/uid_7001/job_5"},
    {"v1-namespaced", 101, HPCB_CTL_CPU, 1, EXDEV, NULL, NULL},
    {"v1-namespaced", 101, HPCB_CTL_MEMORY, 1, EXDEV, NULL, NULL},
    {"v1-namespaced", 101, HPCB_CTL_FREEZER, 1, EXDEV, NULL, NULL},
    {"v2-slurm22", 100, HPCB_CTL_CPU, 2, 0,
     CG "/system.slice/slurmstepd.scope/job_4/step_0/user/task_0",
     CG "/system.slice/slurmstepd.scope/job_4"},
    {"v2-slurm22", 101, HPCB_CTL_FREEZER, 2, 0,
     CG "/system.slice/slurmstepd.scope/job_4/step_extern/user/task_special",
     CG "/system.slice/slurmstepd.scope/job_4"},
    {"v2-slurm22", 102, HPCB_CTL_CPU, 2, 0, CG "/system.slice/slurmstepd.scope/system",
     NULL},
    {"v2-node-scope", 100, HPCB_CTL_IO, 2, 0,
     CG "/system.slice/spk1_slurmstepd.scope/job_3/step_batch/user/task_0",
     CG "/system.slice/spk1_slurmstepd.scope/job_3"},
    {"v2-sluid", 100, HPCB_CTL_MEMORY, 2, 0,
     CG "/system.slice/spk1_slurmstepd.scope/s8B9M7Y1A9MR00/step_0/user/task_0",
     CG "/system.slice/spk1_slurmstepd.scope/s8B9M7Y1A9MR00"},
    {"v2-bind", 100, HPCB_CTL_CPU, 2, 0,
     CG "/system.slice/slurmstepd.scope/job_21/step_0/user/task_0",
     CG "/system.slice/slurmstepd.scope/job_21"},
    {"v2-bind", 102, HPCB_CTL_CPU, 2, EXDEV, NULL, NULL},
    {"no-cgroups", 100, HPCB_CTL_CPU, 0, ENOENT, NULL, NULL},
};

static char *snapshot_root(const char *name)
{
    static char dir[TEST_TMP_MAX];

    test_snapshot_open(name, dir);
    return dir;
}

static hpcb_node_t *open_node(const char *root)
{
    hpcb_node_t *node;
    hpcb_error_t err;

    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
    return node;
}

START_TEST(finds_tasks_and_jobs)
{
    const place_t *place = &places[_i];
    const char *root = snapshot_root(place->snapshot);
    hpcb_node_t *node = open_node(root);
    char dir[PATH_MAX] = "untouched";
    hpcb_error_t err;
    int rc;

    ck_assert_int_eq(hpcb_node_version(node, place->controller), place->version);
    rc =
        hpcb_node_task_dir(node, place->pid, place->controller, dir, sizeof(dir), &err);
    ck_assert_int_eq(rc < 0 ? errno : 0, place->error);
    ck_assert_str_eq(rc < 0 ? dir : dir + strlen(root),
                     place->task ? place->task : "untouched");
    strcpy(dir, "untouched");
    rc = hpcb_node_job_dir(node, place->pid, place->controller, dir, sizeof(dir), &err);
    ck_assert_int_eq(rc, place->job ? 0 : -1);
    ck_assert_str_eq(rc < 0 ? dir : dir + strlen(root),
                     place->job ? place->job : "untouched");
    if (rc < 0)
        ck_assert_int_eq(errno, place->error ? place->error : ENOENT);
    hpcb_node_close(node);
}
END_TEST

START_TEST(tells_root_groups_from_children)
{
    hpcb_node_t *host = open_node(snapshot_root("v1-hybrid"));
    hpcb_node_t *inside = open_node(snapshot_root("v1-namespaced"));
    hpcb_node_t *v2 = open_node(snapshot_root("v2-slurm22"));

    ck_assert(hpcb_node_root_group(host, HPCB_CTL_CPU));
    ck_assert(!hpcb_node_root_group(inside, HPCB_CTL_CPU));
    ck_assert(hpcb_node_root_group(v2, HPCB_CTL_CPU));
    ck_assert(hpcb_node_autogroup(host));
    ck_assert(hpcb_node_linux(host, 6, 18));
    ck_assert(!hpcb_node_linux(v2, 6, 18));
    ck_assert(!hpcb_node_live(v2));
    hpcb_node_close(host);
    hpcb_node_close(inside);
    hpcb_node_close(v2);
}
END_TEST

/* A container's part of the hierarchy, mounted over the whole of it. */
START_TEST(takes_the_uncovered_mount)
{
    const char *root = fake_start("v1-hybrid");
    char dir[PATH_MAX];
    hpcb_node_t *node;

    fake_write("proc/self/mountinfo",
               "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
               "50 32 0:29 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
               "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
               "51 33 0:99 / /sys/fs/cgroup/memory rw - tmpfs tmpfs rw\n");
    fake_write("proc/100/cgroup", "1:cpu:/docker/x/y\n4:memory:/\n");
    node = open_node(root);
    ck_assert_int_eq(
        hpcb_node_task_dir(node, 100, HPCB_CTL_CPU, dir, sizeof(dir), NULL), 0);
    ck_assert_str_eq(dir + strlen(root), CG "/cpu/y");
    ck_assert_int_eq(hpcb_node_version(node, HPCB_CTL_MEMORY), 0);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(resolves_octal_escapes)
{
    char root[TEST_TMP_MAX], command[2048], dir[PATH_MAX];
    hpcb_node_t *node;

    test_tmp_dir(root);
    snprintf(
        command, sizeof(command),
        "mkdir -p '%s/proc/self' '%s/proc/7' '%s/a b/c\td' && "
        "touch '%s/a b/c\td/cgroup.procs' && echo '1:cpu:/x y/z:1' >'%s/proc/7/cgroup' "
        "&& printf '%%s\\n' '5 4 0:1 /x\\040y /a\\040b/c\\011d rw - cgroup none "
        "rw,cpu' >'%s/proc/self/mountinfo'",
        root, root, root, root, root, root);
    ck_assert_int_eq(system(command), 0);
    node = open_node(root);
    ck_assert_int_eq(hpcb_node_version(node, HPCB_CTL_CPU), 1);
    ck_assert_int_eq(hpcb_node_task_dir(node, 7, HPCB_CTL_CPU, dir, sizeof(dir), NULL),
                     0);
    ck_assert_str_eq(dir + strlen(root), "/a b/c\td/z:1");
    hpcb_node_close(node);
    snprintf(command, sizeof(command), "rm -r '%s'", root);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

static const char *const hostile_cgroup[] = {
    "",
    "\n",
    "1",
    "1:cpu",
    "1:cpu:",
    "1:cpu:relative\n",
    "1:cpu:/slurm_n/uid_0/job_1/../../..\n",
    "1:cpu:/../../etc\n",
    "1:cpu:/./slurm_n\n",
    "1:cpu://slurm_n\n",
    "1:cpu:/a/\n",
    "1:cpu:/gone (deleted)\n",
    "1:xcpu,cpux,:/\n",
    ":::::\n::cpu\n",
    "0::/slurm\n",
};

START_TEST(refuses_hostile_lines)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = open_node(root);
    char dir[PATH_MAX] = "untouched";
    hpcb_error_t err = {""};

    fake_write("proc/100/cgroup", hostile_cgroup[_i]);
    ck_assert_int_eq(
        hpcb_node_task_dir(node, 100, HPCB_CTL_CPU, dir, sizeof(dir), &err), -1);
    ck_assert(errno == ENOENT || errno == EXDEV);
    ck_assert_str_eq(dir, "untouched");
    ck_assert_str_ne(err.text, "");
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(refuses_overlong_paths)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = open_node(root);
    size_t size = 200000;
    char *line = malloc(size + 32), dir[PATH_MAX];

    ck_assert_ptr_nonnull(line);
    for (size_t length = 3800; length < size; length *= 3) {
        strcpy(line, "1:cpu:/");
        memset(line + 7, 'a', length);
        strcpy(line + 7 + length, "\n");
        fake_write("proc/100/cgroup", line);
        if (length < 4000)
            ck_assert_int_eq(
                hpcb_node_task_dir(node, 100, HPCB_CTL_CPU, dir, sizeof(dir), NULL), 0);
        ck_assert_int_eq(hpcb_node_task_dir(node, 100, HPCB_CTL_CPU, dir, 100, NULL),
                         -1);
        ck_assert(errno == ENAMETOOLONG || errno == EFBIG);
    }
    free(line);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(survives_odd_mountinfo)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node;
    hpcb_error_t err;

    fake_write(
        "proc/self/mountinfo",
        "x\n1 2 3\n- - - - - - - - -\n9 8 0:1 / /p rw - cgroup\n"
        "99999999999999999999 1 0:1 / /p rw - cgroup none rw,cpu\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu rw shared:1 master:2 - cgroup none rw,cpu\n"
        "33 31 0:29 relative /sys/fs/cgroup/memory rw - cgroup none rw,memory\n");
    node = open_node(root);
    ck_assert_int_eq(hpcb_node_version(node, HPCB_CTL_CPU), 1);
    ck_assert_int_eq(hpcb_node_version(node, HPCB_CTL_MEMORY), 0);
    hpcb_node_close(node);
    fake_write("proc/self/mountinfo", "");
    node = open_node(root);
    ck_assert_ptr_null(hpcb_node_mount(node, HPCB_CTL_CPU));
    hpcb_node_close(node);
    ck_assert_int_eq(hpcb_node_open("/nonexistent", &node, &err), -1);
    fake_stop();
}
END_TEST

typedef struct {
    const char *path;
    int version;
    const char *job;
} job_t;

static const job_t jobs[] = {
    {"/slurm/uid_0/job_1/step_0/task_0", 1, "/slurm/uid_0/job_1"},
    {"/slurm_n/uid_0/job_1", 1, "/slurm_n/uid_0/job_1"},
    {"/docker/x/slurm_n/uid_1/sXYZ/step_0", 1, "/docker/x/slurm_n/uid_1/sXYZ"},
    {"/slurm_n/uid_x/job_1/step_0", 1, ""},
    {"/slurm_n/system", 1, ""},
    {"/slurm_n/uid_0", 1, ""},
    {"/uid_0/job_1/step_0", 1, ""},
    {"/slurmstepd.scope/job_1/step_0/user", 1, ""},
    {"/system.slice/slurmstepd.scope/job_1/step_0/user/task_0", 2,
     "/system.slice/slurmstepd.scope/job_1"},
    {"/a_slurmstepd.scope/sX/step_batch/slurm", 2, "/a_slurmstepd.scope/sX"},
    {"/slurmstepd.scope/job_1", 2, ""},
    {"/slurmstepd.scope/system", 2, ""},
    {"/myslurmstepd.scope/job_1/step_0", 2, ""},
    {"/slurmstepd.scope.d/job_1/step_0", 2, ""},
    {"/slurmstepd.scope/job_1/nostep_0/user", 2, ""},
    {"/slurmstepd.scope/job_1/step_0/user/x_slurmstepd.scope/job_9/step_1", 2,
     "/slurmstepd.scope/job_1"},
    {"", 1, ""},
    {"", 2, ""},
};

START_TEST(finds_the_job_in_a_path)
{
    const job_t *job = &jobs[_i];

    ck_assert_uint_eq(hpcb_parse_job(job->path, job->version), strlen(job->job));
    ck_assert(strncmp(job->path, job->job, strlen(job->job)) == 0);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("node");
    TCase *tcase = tcase_create("node");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, finds_tasks_and_jobs, 0, COUNT(places));
    tcase_add_test(tcase, tells_root_groups_from_children);
    tcase_add_test(tcase, takes_the_uncovered_mount);
    tcase_add_test(tcase, resolves_octal_escapes);
    tcase_add_loop_test(tcase, refuses_hostile_lines, 0, COUNT(hostile_cgroup));
    tcase_add_test(tcase, refuses_overlong_paths);
    tcase_add_test(tcase, survives_odd_mountinfo);
    tcase_add_loop_test(tcase, finds_the_job_in_a_path, 0, COUNT(jobs));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
