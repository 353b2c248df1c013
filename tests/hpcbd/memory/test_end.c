/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Who is signalled when a guest ends for a primary's memory. */
#include "config.h"

#include <check.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "hpcbd/memory/end.h"
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

/* Between the look at the group and the signal an id may go to another process. */
START_TEST(only_processes_of_the_job_are_signalled)
{
    const char *root = fake_start("v2-slurm22");
    pid_t guest = fake_task(100), other = fake_task(102);
    char state[512], ended[640], steps[640], task[640], text[64];
    hpcbd_ending_t ending = {.job_id = 4, .uid = NOBODY, .at_once = true};
    hpcb_node_t *node;

    snprintf(state, sizeof(state), "%.400s/state", root);
    snprintf(ended, sizeof(ended), "%s/" HPCBD_MEMORY_ENDED, state);
    snprintf(steps, sizeof(steps), "%.400s/" JOB, root);
    ck_assert_int_eq(mkdir(state, 0755), 0);
    ck_assert_int_eq(mkdir(ended, 0755), 0);
    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
    snprintf(task, sizeof(task), "%.400s/" TASK, root);
    ck_assert_int_eq(hpcb_knob_mkdir(task, "", NULL), 0);
    snprintf(text, sizeof(text), "%d\n%d\n", (int)other, (int)guest);
    fake_write(TASK "/cgroup.procs", text);
    ending.node = node;
    ending.state_dir = state;
    ending.steps = steps;
    ck_assert_int_ge(hpcbd_memory_end(&ending, true, NULL), 1);
    for (int i = 0; i < 200 && !has_ended(guest); i++)
        usleep(10000);
    ck_assert(has_ended(guest));
    ck_assert(!has_ended(other));
    hpcb_node_close(node);
    fake_stop();
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
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
