/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Long slices of a primary's threads (cgroup/slices.c): real tasks that a copy of a
 * snapshot shows in a job.  Before Linux 6.12 there is nothing to test. */
#include "config.h"

#include <check.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/mechanism.h"
#include "cgroup/slices.h"
#include "cgroup/steps.h"
#include "cgroup/task.h"
#include "tests/cgroup/fake_kernel.h"

static hpcb_node_t *node;
static uint64_t from;
static const char *root;
static char job[PATH_MAX];
static pid_t task;

/* pid is in the group that the task's /proc says. */
static void list_process(pid_t pid, const char *mode)
{
    char dir[PATH_MAX], path[PATH_MAX + 16];
    FILE *procs;

    ck_assert_int_eq(
        hpcb_node_task_dir(node, task, HPCB_CTL_FREEZER, dir, sizeof(dir), NULL), 0);
    snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
    procs = fopen(path, mode);
    ck_assert_ptr_nonnull(procs);
    fprintf(procs, "%d\n", (int)pid);
    ck_assert_int_eq(fclose(procs), 0);
}

static bool begin(const char *snapshot)
{
    char text[64];

    if (hpcb_task_get(getpid(), "slice", text, sizeof(text), NULL) < 0)
        return false;
    root = fake_start(snapshot);
    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
    task = fake_task(101);
    ck_assert_int_eq(hpcb_steps_job(node, task, job, sizeof(job), NULL), 0);
    list_process(task, "w");
    return true;
}

static void end(void)
{
    hpcb_node_close(node);
    fake_stop();
}

static const char *slice_of(pid_t pid)
{
    static char text[64];

    ck_assert_int_eq(hpcb_task_get(pid, "slice", text, sizeof(text), NULL), 0);
    return text;
}

START_TEST(a_primary_gets_them_and_gives_them_back)
{
    char own[64];

    if (!begin(_i ? "real-24.11-v2" : "real-22.05-v1"))
        return;
    strcpy(own, slice_of(task));
    ck_assert_int_ge(hpcb_slices_lengthen(node, job, &from), 1);
    ck_assert_str_eq(slice_of(task), HPCB_SLICE_PRIMARY);
    ck_assert_int_eq(hpcb_slices_lengthen(node, job, &from), 0);
    ck_assert_str_eq(slice_of(getpid()), own);
    ck_assert_int_ge(hpcb_slices_restore(node, job, &from), 1);
    ck_assert_str_eq(slice_of(task), own);
    ck_assert_int_eq(hpcb_slices_restore(node, job, &from), 0);
    end();
}
END_TEST

static void *wait_for_end(void *arg)
{
    (void)arg;
    for (;;)
        pause();
    return NULL;
}

/* A process of the job with that many threads. */
static pid_t wide_process(unsigned threads)
{
    char command[3 * PATH_MAX], byte;
    int ready[2];
    pid_t pid;

    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        for (unsigned i = 1; i < threads; i++) {
            pthread_t thread;

            if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
                _exit(1);
        }
        if (write(ready[1], "", 1) == 1)
            wait_for_end(NULL);
        _exit(1);
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    snprintf(command, sizeof(command), "cp -r '%s/proc/%d' '%s/proc/%d'", root,
             (int)task, root, (int)pid);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) */
    list_process(pid, "a");
    return pid;
}

/* Return the number of threads that a complete scan changes, and that of its calls. */
static int scan(int (*change)(const hpcb_node_t *, const char *, uint64_t *),
                unsigned *calls)
{
    int changed = 0;

    from = 0;
    *calls = 0;
    do {
        int some = change(node, job, &from);

        ck_assert_int_ge(some, 0);
        changed += some;
        ++*calls;
    } while (from > 0 && *calls < 100);
    return changed;
}

START_TEST(threads_that_a_call_does_not_reach_follow)
{
    unsigned calls;
    pid_t wide;

    if (!begin("real-22.05-v1"))
        return;
    wide = wide_process(HPCB_SLICES_MAX + 50);
    ck_assert_int_eq(scan(hpcb_slices_lengthen, &calls), HPCB_SLICES_MAX + 51);
    ck_assert_uint_eq(calls, 2);
    ck_assert_int_eq(scan(hpcb_slices_lengthen, &calls), 0);
    ck_assert_int_eq(scan(hpcb_slices_restore, &calls), HPCB_SLICES_MAX + 51);
    ck_assert_int_eq(scan(hpcb_slices_restore, &calls), 0);
    kill(wide, SIGKILL);
    ck_assert_int_eq(waitpid(wide, NULL, 0), wide);
    end();
}
END_TEST

START_TEST(a_slice_that_was_chosen_stays)
{
    if (!begin("real-22.05-v1"))
        return;
    ck_assert_int_eq(hpcb_task_set(task, "slice", "5000000", NULL), 0);
    hpcb_slices_lengthen(node, job, &from);
    ck_assert_str_eq(slice_of(task), "5000000");
    hpcb_slices_restore(node, job, &from);
    ck_assert_str_eq(slice_of(task), "5000000");
    end();
}
END_TEST

START_TEST(other_policies_are_left_alone)
{
    char policy[64];

    if (!begin("real-22.05-v1"))
        return;
    ck_assert_int_eq(hpcb_task_set(task, "policy", "5 0", NULL), 0);
    hpcb_slices_lengthen(node, job, &from);
    ck_assert_int_eq(hpcb_task_get(task, "policy", policy, sizeof(policy), NULL), 0);
    ck_assert_str_eq(policy, "5 0");
    end();
}
END_TEST

START_TEST(guests_have_the_longest)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("long-slice");
    hpcb_target_t target = {.job_id = 1, .guest_cgroup = "hpcb_guest"};
    char own[64];

    if (!begin("real-22.05-v1"))
        return;
    target.node = node;
    target.pid = task;
    strcpy(own, slice_of(task));
    ck_assert_int_eq(hpcb_undo_open(NULL, 1, &target.undo, NULL), 0);
    ck_assert_int_eq(row->probe(node, NULL), 0);
    ck_assert_int_lt(row->verify(&target, NULL), 0);
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    ck_assert_int_eq(row->verify(&target, NULL), 0);
    ck_assert_str_eq(slice_of(task), HPCB_SLICE_GUEST);
    ck_assert_int_eq(row->undo(row, &target, NULL), 0);
    ck_assert_str_eq(slice_of(task), own);
    hpcb_undo_close(target.undo);
    end();
}
END_TEST

START_TEST(an_older_kernel_has_none)
{
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_node_open(fake_start("real-24.11-v2"), &node, NULL), 0);
    ck_assert_int_lt(hpcb_slices_probe(node, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "6.12"));
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slices");
    TCase *tcase = tcase_create("slices"), *wide = tcase_create("wide");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, a_primary_gets_them_and_gives_them_back, 0, 2);
    tcase_add_test(tcase, a_slice_that_was_chosen_stays);
    tcase_add_test(tcase, other_policies_are_left_alone);
    tcase_add_test(tcase, guests_have_the_longest);
    tcase_add_test(tcase, an_older_kernel_has_none);
    suite_add_tcase(suite, tcase);
    /* Hundreds of threads: scripts/valgrind leaves out what has this tag. */
    tcase_set_tags(wide, "long");
    tcase_add_test(wide, threads_that_a_call_does_not_reach_follow);
    suite_add_tcase(suite, wide);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
