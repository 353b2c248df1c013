/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Who is signalled when a guest ends for a primary's memory. */
#include "config.h"

#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "hpcbd/memory/end.h"
#include "hpcbd/requeue.h"
#include "tests/cgroup/fake_kernel.h"

#define JOB    "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4"
#define TASK   JOB "/step_0/user/task_0"
#define NOBODY ((uid_t)-1)

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
}

/* The guest's standard error is on a file system of its own, which does not answer. */
static ino_t silent;

int fstat(int fd, struct stat *status)
{
    int rc = fstatat(fd, "", status, AT_EMPTY_PATH);

    while (rc == 0 && silent && status->st_ino == silent)
        pause();
    return rc;
}

static struct {
    hpcb_node_t *node;
    char state[512], steps[640];
    pid_t guest, other;
} job;

/* A job whose group names a process of another one as well. */
static void start_job(void)
{
    const char *root = fake_start("v2-slurm22");
    char ended[640], task[640], text[64];

    job.guest = fake_task(100);
    job.other = fake_task(102);
    snprintf(job.state, sizeof(job.state), "%.400s/state", root);
    snprintf(ended, sizeof(ended), "%s/" HPCBD_REQUEUE_DIR, job.state);
    snprintf(job.steps, sizeof(job.steps), "%.400s/" JOB, root);
    ck_assert_int_eq(mkdir(job.state, 0755), 0);
    ck_assert_int_eq(mkdir(ended, 0755), 0);
    ck_assert_int_eq(hpcb_node_open(root, &job.node, NULL), 0);
    snprintf(task, sizeof(task), "%.400s/" TASK, root);
    ck_assert_int_eq(hpcb_knob_mkdir(task, "", NULL), 0);
    snprintf(text, sizeof(text), "%d\n%d\n", (int)job.other, (int)job.guest);
    fake_write(TASK "/cgroup.procs", text);
}

static void stop_job(void)
{
    hpcb_node_close(job.node);
    fake_stop();
}

static void end_guest(uid_t uid)
{
    const hpcbd_ending_t ending = {.node = job.node,
                                   .state_dir = job.state,
                                   .job_id = 4,
                                   .uid = uid,
                                   .steps = job.steps,
                                   .at_once = true};

    ck_assert_int_ge(hpcbd_memory_end(&ending, true, NULL), 1);
    for (int i = 0; i < 200 && !has_ended(job.guest); i++)
        usleep(10000);
    ck_assert(has_ended(job.guest));
}

/* Between the look at the group and the signal an id may go to another process. */
START_TEST(only_processes_of_the_job_are_signalled)
{
    start_job();
    end_guest(NOBODY);
    ck_assert(!has_ended(job.other));
    stop_job();
}
END_TEST

START_TEST(no_guest_keeps_the_guard_waiting)
{
    struct stat status;

    ck_assert_int_eq(fstatat(STDERR_FILENO, "", &status, AT_EMPTY_PATH), 0);
    start_job();
    silent = status.st_ino;
    end_guest(1234);
    silent = 0;
    stop_job();
}
END_TEST

/* Its standard error says it, before the guest ends. */
START_TEST(the_user_is_told)
{
    int ends[2], saved = dup(STDERR_FILENO);
    struct pollfd told;
    char text[512] = "";

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    start_job();
    ck_assert_int_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    end_guest(1234);
    told = (struct pollfd){.fd = ends[0], .events = POLLIN};
    ck_assert_int_eq(poll(&told, 1, 10000), 1);
    ck_assert_int_gt(read(ends[0], text, sizeof(text) - 1), 0);
    ck_assert_ptr_nonnull(strstr(text, HPCBD_MEMORY_TEXT));
    close(saved);
    close(ends[0]);
    close(ends[1]);
    stop_job();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory_end");
    TCase *tc = tcase_create("memory_end");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, only_processes_of_the_job_are_signalled);
    tcase_add_test(tc, no_guest_keeps_the_guard_waiting);
    tcase_add_test(tc, the_user_is_told);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
