/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The mechanism table on the running kernel. */
#include "config.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/mechanism.h"
#include "cgroup/task.h"
#include "common/file.h"
#include "tests/cgroup/real_kernel.h"

#define GUESTS "hpcb_guest"

static hpcb_node_t *node;

static bool enter(void)
{
    hpcb_error_t err;

    if (!real_enter()) {
        fprintf(stderr, "# skipped: %s\n", real_why());
        return false;
    }
    ck_assert_msg(hpcb_node_open("/", &node, &err) == 0, "%s", err.text);
    ck_assert(!hpcb_node_root_group(node, HPCB_CTL_CPU));
    return true;
}

static hpcb_target_t guest(pid_t pid, uint32_t job)
{
    return (hpcb_target_t){
        .node = node, .pid = pid, .job_id = job, .guest_cgroup = GUESTS};
}

static void isolate(const hpcb_target_t *target, const char *name)
{
    hpcb_error_t err;
    const hpcb_mechanism_t *row = hpcb_isolate(target, &err);

    ck_assert_msg(row != NULL, "%s", err.text);
    ck_assert_str_eq(row->name, name);
    row = hpcb_isolated(target, &err);
    ck_assert_msg(row != NULL, "%s", err.text);
}

static void cleanup(uint32_t job)
{
    hpcb_error_t err;

    ck_assert_msg(hpcb_isolate_cleanup(node, GUESTS, job, &err) == 0, "%s", err.text);
}

/* Let both burn on one CPU; the guest must get next to nothing of it. */
static void expect_lowered(pid_t primary, pid_t lowered)
{
    real_time_t before[2], after[2];
    uint64_t mine, theirs;

    real_sleep_ms(100);
    before[0] = real_time(primary);
    before[1] = real_time(lowered);
    real_sleep_ms(1000);
    after[0] = real_time(primary);
    after[1] = real_time(lowered);
    mine = after[0].cpu_us - before[0].cpu_us;
    theirs = after[1].cpu_us - before[1].cpu_us;
    ck_assert_msg(theirs * 10 < mine, "primary %ju us, guest %ju us", (uintmax_t)mine,
                  (uintmax_t)theirs);
}

START_TEST(idle_group_lowers)
{
    pid_t primary, lowered;
    hpcb_target_t target;

    if (!enter())
        return;
    primary = real_burner();
    lowered = real_burner();
    target = guest(lowered, 1);
    isolate(&target, "idle-group");
    expect_lowered(primary, lowered);
    ck_assert_int_eq(hpcb_isolate_cleanup(node, GUESTS, 1, NULL), -1);
    ck_assert_int_eq(errno, EBUSY);
    real_reap(primary);
    real_reap(lowered);
    cleanup(1);
    ck_assert(!hpcb_knob_exists(hpcb_node_mount(node, HPCB_CTL_CPU), GUESTS));
    hpcb_node_close(node);
}
END_TEST

START_TEST(weight_is_refused_beside_idle)
{
    pid_t pid;
    hpcb_target_t target;
    char dir[PATH_MAX];

    if (!enter())
        return;
    pid = real_burner();
    target = guest(pid, 1);
    isolate(&target, "idle-group");
    /* What the fake kernel of the other tests claims. */
    ck_assert_int_eq(hpcb_knob_path(hpcb_node_mount(node, HPCB_CTL_CPU), GUESTS, dir,
                                    sizeof(dir), NULL),
                     0);
    ck_assert_int_eq(hpcb_knob_write(dir, "cpu.shares", "2", NULL), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(hpcb_mechanism_find("weight")->apply(&target, NULL), 0);
    real_reap(pid);
    cleanup(1);
    hpcb_node_close(node);
}
END_TEST

/* A read-only cgroup mount: SCHED_IDLE, which acts across sessions because what shows
 * as
 * "/" here is a child of the root group, where autogroup does not apply. */
START_TEST(read_only_mount_leaves_sched_idle)
{
    pid_t primary, lowered;
    hpcb_target_t target;
    const char *cpu;

    if (!enter())
        return;
    cpu = hpcb_node_mount(node, HPCB_CTL_CPU);
    ck_assert_int_eq(mount("none", cpu, "none", MS_REMOUNT | MS_BIND | MS_RDONLY, NULL),
                     0);
    primary = real_burner();
    lowered = real_burner();
    target = guest(lowered, 1);
    isolate(&target, "sched-idle");
    expect_lowered(primary, lowered);
    real_reap(primary);
    real_reap(lowered);
    hpcb_node_close(node);
}
END_TEST

/* The task itself asks, as a user. */
START_TEST(verifies_without_privilege)
{
    hpcb_target_t target;
    hpcb_error_t err = {""};
    int status;
    pid_t pid;

    if (!enter())
        return;
    pid = real_fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        target = guest(getpid(), 1);
        if (!hpcb_isolate(&target, &err))
            _exit(1);
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(2);
        _exit(hpcb_isolated(&target, &err) ? 0 : 3);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    cleanup(1);
    hpcb_node_close(node);
}
END_TEST

static void *wait_for_ever(void *arg)
{
    (void)arg;
    for (;;)
        pause();
    return NULL;
}

static pid_t threaded(void)
{
    pid_t pid = real_fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        pthread_t thread;

        for (int i = 0; i < 3; i++)
            pthread_create(&thread, NULL, wait_for_ever, NULL);
        wait_for_ever(NULL);
    }
    real_sleep_ms(100);
    return pid;
}

START_TEST(takes_every_thread)
{
    char name[64], text[4096];
    pid_t pid, *tids;
    hpcb_target_t target;
    size_t count;

    if (!enter())
        return;
    pid = threaded();
    target = guest(pid, 1);
    isolate(&target, "idle-group");
    ck_assert_int_eq(hpcb_mechanism_find("nice")->apply(&target, NULL), 0);
    ck_assert_int_eq(hpcb_task_threads(pid, &tids, &count, NULL), 0);
    ck_assert_uint_eq(count, 4);
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "%d/task/%d/cgroup", (int)pid, (int)tids[i]);
        ck_assert_int_eq(hpcb_knob_read("/proc", name, text, sizeof(text), NULL), 0);
        ck_assert_ptr_nonnull(strstr(text, "cpu:/" GUESTS "/job_1\n"));
        ck_assert_int_eq(hpcb_task_get(tids[i], "nice", text, sizeof(text), NULL), 0);
        ck_assert_str_eq(text, "19");
    }
    free(tids);
    real_reap(pid);
    cleanup(1);
    hpcb_node_close(node);
}
END_TEST

#define JOB "slurm_n1/uid_0/job_7"

/* pthread_exit(3) in main. */
START_TEST(a_job_without_main_thread_is_found)
{
    char wanted[PATH_MAX], dir[PATH_MAX], id[16];
    hpcb_error_t err;
    const char *mount;
    pid_t pid;

    if (!enter())
        return;
    mount = hpcb_node_mount(node, HPCB_CTL_CPU);
    snprintf(dir, sizeof(dir), "%s/" JOB "/step_0", mount);
    ck_assert_int_eq(hpcb_file_mkdirs(dir, 0755, NULL), 0);
    pid = real_leaderless(0);
    snprintf(id, sizeof(id), "%d", (int)pid);
    ck_assert_int_eq(hpcb_knob_write(mount, JOB "/step_0/cgroup.procs", id, NULL), 0);
    snprintf(wanted, sizeof(wanted), "%s/" JOB, mount);
    ck_assert_msg(hpcb_node_job_dir(node, pid, HPCB_CTL_CPU, dir, sizeof(dir), &err) ==
                      0,
                  "%s", err.text);
    ck_assert_str_eq(dir, wanted);
    real_reap(pid);
    /* Nobody waits for threads of a process that has ended. */
    ck_assert_int_eq(hpcb_node_job_dir(node, pid, HPCB_CTL_CPU, dir, sizeof(dir), NULL),
                     -1);
    hpcb_node_close(node);
}
END_TEST

static int one_guest(uint32_t job)
{
    hpcb_target_t target;
    int tries = 0;
    pid_t pid = real_fork();

    if (pid == 0) {
        wait_for_ever(NULL);
    }
    target = guest(pid, job);
    if (pid < 0 || !hpcb_isolate(&target, NULL) || !hpcb_isolated(&target, NULL))
        return 1;
    real_reap(pid);
    while (hpcb_isolate_cleanup(node, GUESTS, job, NULL) < 0 && ++tries < 100)
        real_sleep_ms(1);
    return tries < 100 ? 0 : 2;
}

/* Several slurmstepds make the common group while others remove it. */
START_TEST(many_creators)
{
    const int creators = 6, rounds = 40;

    if (!enter())
        return;
    for (int i = 0; i < creators; i++) {
        pid_t pid = real_fork();

        ck_assert_int_ge(pid, 0);
        for (int round = 0; pid == 0 && round < rounds; round++) {
            int rc = one_guest((uint32_t)i + 1);

            if (rc)
                _exit(rc);
        }
        if (pid == 0)
            _exit(0);
    }
    for (int i = 0; i < creators; i++) {
        int status;

        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert(!hpcb_knob_exists(hpcb_node_mount(node, HPCB_CTL_CPU), GUESTS));
    hpcb_node_close(node);
}
END_TEST

START_TEST(freezes_the_metered_job)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("freeze");
    const char *unified;
    hpcb_target_t target;
    real_time_t before;
    char id[16];
    pid_t pid;

    if (!enter())
        return;
    unified = hpcb_node_mount(node, HPCB_CTL_UNIFIED);
    pid = real_burner();
    snprintf(id, sizeof(id), "%d", (int)pid);
    ck_assert_int_eq(hpcb_knob_mkdir(unified, "hpcb", NULL), 0);
    ck_assert_int_eq(hpcb_knob_mkdir(unified, "hpcb/job_1", NULL), 0);
    ck_assert_int_eq(hpcb_knob_mkdir(unified, "hpcb/job_1/0.0", NULL), 0);
    ck_assert_int_eq(hpcb_knob_write(unified, "hpcb/job_1/0.0/cgroup.procs", id, NULL),
                     0);
    target = guest(pid, 1);
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    for (int i = 0; i < 100 && row->verify(&target, NULL) < 0; i++)
        real_sleep_ms(10);
    ck_assert_int_eq(row->verify(&target, NULL), 0);
    before = real_time(pid);
    real_sleep_ms(100);
    ck_assert_uint_eq(real_time(pid).cpu_us, before.cpu_us);
    ck_assert_int_eq(row->undo(row, &target, NULL), 0);
    real_sleep_ms(300);
    ck_assert_uint_gt(real_time(pid).cpu_us, before.cpu_us);
    real_reap(pid);
    ck_assert_int_eq(hpcb_knob_rmdir(unified, "hpcb/job_1/0.0", NULL), 0);
    ck_assert_int_eq(hpcb_knob_rmdir(unified, "hpcb/job_1", NULL), 0);
    ck_assert_int_eq(hpcb_knob_rmdir(unified, "hpcb", NULL), 0);
    hpcb_node_close(node);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernel");
    TCase *tcase = tcase_create("kernel");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_unchecked_fixture(tcase, real_setup, real_teardown);
    tcase_add_test(tcase, idle_group_lowers);
    tcase_add_test(tcase, weight_is_refused_beside_idle);
    tcase_add_test(tcase, read_only_mount_leaves_sched_idle);
    tcase_add_test(tcase, verifies_without_privilege);
    tcase_add_test(tcase, takes_every_thread);
    tcase_add_test(tcase, a_job_without_main_thread_is_found);
    tcase_add_test(tcase, many_creators);
    tcase_add_test(tcase, freezes_the_metered_job);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
