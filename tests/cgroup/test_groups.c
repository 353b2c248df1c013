/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The same calls and the same results on a snapshot and on the running kernel. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/groups.h"
#include "cgroup/knob.h"
#include "cgroup/task.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/cgroup/real_kernel.h"

static hpcb_node_t *open_node(const char *root)
{
    hpcb_node_t *node;
    hpcb_error_t err;

    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
    return node;
}

static const char *dir_of(const hpcb_node_t *node, hpcb_controller_t controller,
                          const char *group)
{
    static char dir[PATH_MAX];

    ck_assert_int_eq(hpcb_knob_path(hpcb_node_mount(node, controller), group, dir,
                                    sizeof(dir), NULL),
                     0);
    return dir;
}

/* As Slurm or an administrator makes one: with mkdir, above it first. */
static void make_group(const hpcb_node_t *node, hpcb_controller_t controller,
                       const char *group)
{
    hpcb_error_t err;

    ck_assert_msg(hpcb_knob_mkdir(dir_of(node, controller, group), "", &err) == 0, "%s",
                  err.text);
}

static void move_to(const hpcb_node_t *node, hpcb_controller_t controller,
                    const char *group, pid_t pid)
{
    hpcb_error_t err;

    ck_assert_msg(hpcb_task_set(pid, "cgroup", dir_of(node, controller, group), &err) ==
                      0,
                  "%s", err.text);
}

static void expect_tasks(const hpcb_node_t *node, hpcb_controller_t controller,
                         const char *group, pid_t one, pid_t two)
{
    size_t wanted = (one ? 1 : 0) + (two ? 1 : 0), count;
    hpcb_error_t err;
    pid_t *pids;

    ck_assert_msg(hpcb_group_tasks(node, controller, group, &pids, &count, &err) == 0,
                  "%s", err.text);
    ck_assert_uint_eq(count, wanted);
    if (wanted > 0)
        ck_assert_int_eq(pids[0], one);
    if (wanted > 1)
        ck_assert_int_eq(pids[1], two);
    free(pids);
}

static void works(const hpcb_node_t *node, hpcb_controller_t c, pid_t one, pid_t two)
{
    hpcb_error_t err = {""};
    size_t count;
    pid_t *pids;

    ck_assert(!hpcb_group_exists(node, c, "g"));
    ck_assert_int_eq(hpcb_group_tasks(node, c, "g", &pids, &count, &err), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(hpcb_group_delete(node, c, "g", &err), 0);
    make_group(node, c, "g");
    make_group(node, c, "g/a");
    make_group(node, c, "g/a/b");
    make_group(node, c, "g/c");
    ck_assert(hpcb_group_exists(node, c, "g") && hpcb_group_exists(node, c, "g/a/b"));
    expect_tasks(node, c, "g", 0, 0);
    move_to(node, c, "g/a/b", one);
    move_to(node, c, "g/c", two);
    expect_tasks(node, c, "g/a/b", one, 0);
    expect_tasks(node, c, "g/c", two, 0);
    move_to(node, c, "g/c", one);
    expect_tasks(node, c, "g/a/b", 0, 0);
    expect_tasks(node, c, "g/c", one, two);
    /* Their processes go to the group above. */
    ck_assert_msg(hpcb_group_delete(node, c, "g/c", &err) == 0, "%s", err.text);
    expect_tasks(node, c, "g", one, two);
    move_to(node, c, "g/a/b", one);
    ck_assert_msg(hpcb_group_delete(node, c, "g", &err) == 0, "%s", err.text);
    ck_assert(!hpcb_group_exists(node, c, "g"));
}

START_TEST(on_snapshots)
{
    static const char *const snapshots[] = {"v1-hybrid", "v1-comounted", "v2-slurm22"};
    hpcb_node_t *node;
    pid_t one, two;

    node = open_node(fake_start(snapshots[_i]));
    one = fake_task(100);
    two = fake_task(100);
    works(node, HPCB_CTL_CPU, one < two ? one : two, one < two ? two : one);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(on_the_kernel)
{
    hpcb_node_t *node;
    pid_t one, two;

    if (!real_enter()) {
        fprintf(stderr, "# skipped: %s\n", real_why());
        return;
    }
    node = open_node("/");
    one = real_burner();
    two = real_burner();
    works(node, HPCB_CTL_CPU, one < two ? one : two, one < two ? two : one);
    works(node, HPCB_CTL_UNIFIED, one < two ? one : two, one < two ? two : one);
    real_reap(one);
    real_reap(two);
    hpcb_node_close(node);
}
END_TEST

/* A job that forks while its groups are removed. */
START_TEST(removes_a_group_in_turmoil)
{
    hpcb_node_t *node;
    hpcb_error_t err;
    pid_t pid;

    if (!real_enter())
        return;
    node = open_node("/");
    make_group(node, HPCB_CTL_CPU, "g");
    make_group(node, HPCB_CTL_CPU, "g/a");
    pid = real_fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        for (;;) {
            if (fork() == 0)
                _exit(0);
            real_sleep_ms(1);
            while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
        }
    }
    move_to(node, HPCB_CTL_CPU, "g/a", pid);
    real_sleep_ms(50);
    ck_assert_msg(hpcb_group_delete(node, HPCB_CTL_CPU, "g", &err) == 0, "%s",
                  err.text);
    ck_assert(!hpcb_group_exists(node, HPCB_CTL_CPU, "g"));
    real_reap(pid);
    hpcb_node_close(node);
}
END_TEST

#define MANY 200000

START_TEST(a_group_of_any_size)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = open_node(root);
    char path[PATH_MAX];
    size_t count = 0;
    pid_t *pids;
    FILE *file;

    make_group(node, HPCB_CTL_CPU, "g");
    snprintf(path, sizeof(path), "%s/cgroup.procs", dir_of(node, HPCB_CTL_CPU, "g"));
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < MANY; i++)
        fprintf(file, "%d\n", 4000000 - i);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(hpcb_group_tasks(node, HPCB_CTL_CPU, "g", &pids, &count, NULL), 0);
    ck_assert_uint_eq(count, MANY);
    ck_assert_int_eq(pids[0], 4000000 - MANY + 1);
    free(pids);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

static const char *const bad_groups[] = {"",   "/",       "/g", "g/",   "g//a",
                                         "..", "g/../..", ".",  "g/./a"};

START_TEST(refuses_odd_names)
{
    hpcb_node_t *node = open_node(fake_start("v1-hybrid"));
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_group_delete(node, HPCB_CTL_CPU, bad_groups[_i], &err), -1);
    ck_assert(!hpcb_group_exists(node, HPCB_CTL_CPU, bad_groups[_i]));
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("groups");
    TCase *tcase = tcase_create("groups");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_unchecked_fixture(tcase, real_setup, real_teardown);
    tcase_add_loop_test(tcase, on_snapshots, 0, 3);
    tcase_add_test(tcase, on_the_kernel);
    tcase_add_test(tcase, removes_a_group_in_turmoil);
    tcase_add_test(tcase, a_group_of_any_size);
    tcase_add_loop_test(tcase, refuses_odd_names, 0, 9);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
