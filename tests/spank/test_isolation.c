/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What happens to a guest's task on nodes that can isolate it, or cannot. */
#include "config.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/mechanism.h"
#include "tests/spank/tests.h"

#define JOB 9

static void report(void)
{
    char oom[32] = "";
    int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);

    if (read(fd, oom, sizeof(oom) - 1) < 0)
        _exit(98);
    close(fd);
    if (sched_getscheduler(0) == SCHED_IDLE || getpriority(PRIO_PROCESS, 0) == 19)
        dprintf(STDOUT_FILENO, "guest oom %s", oom);
    else
        dprintf(STDOUT_FILENO, "primary oom %s", oom);
}

static host_step_t a_step(void)
{
    return (host_step_t){.job_id = JOB, .uid = test_user(), .program = report};
}

static void refused(host_step_t *step, int tasks)
{
    static const char begin[] = "hpc_balance: guest not started: ";
    int lines = 0;

    for (int i = 0; i < tasks; i++) {
        ck_assert(WIFEXITED(step->status[i]));
        ck_assert_int_eq(WEXITSTATUS(step->status[i]), 1);
    }
    ck_assert_str_eq(step->out, "");
    for (const char *p = step->err; *p; p = strchr(p, '\n') + 1) {
        ck_assert_msg(strncmp(p, begin, strlen(begin)) == 0, "%s", step->err);
        lines++;
    }
    ck_assert_int_eq(lines, tasks);
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_eq(host_log_count("error:"), 0);
}

/* A kernel with autogroup and without a cpu cgroup: nothing keeps sessions apart. */
START_TEST(nothing_isolates)
{
    host_step_t step = a_step();

    test_load("", true);
    test_record(JOB, "guest", "none", false);
    step.tasks = _i;
    host_step(&step);
    refused(&step, _i);
    ck_assert_int_eq(host_log_count("info: hpc_balance: guest job 9: no isolation: "),
                     1);
    ck_assert_int_eq(host_log_count("info: "), 1);
}
END_TEST

START_TEST(primary_needs_nothing)
{
    host_step_t step = a_step();

    test_load("", true);
    test_record(JOB, "primary", "none", false);
    step.tasks = 2;
    host_step(&step);
    ck_assert_str_eq(step.out, "primary oom 0\nprimary oom 0\n");
    ck_assert_str_eq(step.err, "");
    ck_assert_int_eq(host_log_count("error:") + host_log_count("info:"), 0);
}
END_TEST

START_TEST(node_not_readable)
{
    host_step_t step = a_step();
    char conf[1024];
    const char *args[] = {conf, "root=/nonexistent", NULL};

    test_load("", true);
    snprintf(conf, sizeof(conf), "conf=%s/hpc-balance.conf", test_dir());
    host_load(args);
    test_record(JOB, _i ? "guest" : "primary", "none", false);
    host_step(&step);
    if (_i)
        refused(&step, 1);
    else
        ck_assert_str_eq(step.out, "primary oom 0\n");
    ck_assert_int_eq(host_log_count("info: hpc_balance: cannot read /nonexistent"), 1);
}
END_TEST

/* Slurm's own set-up of the task may come before or after task_post_fork. */
START_TEST(either_order)
{
    host_step_t step = a_step();

    test_load("GuestOomScoreAdj=321\n", false);
    test_record(JOB, "guest", "none", false);
    step.tasks = 2;
    step.parent_first = _i;
    host_step(&step);
    ck_assert_str_eq(step.out, "guest oom 321\nguest oom 321\n");
    ck_assert_str_eq(step.err, "");
}
END_TEST

static void become_normal(void)
{
    struct sched_param param = {0};

    if (sched_setscheduler(0, SCHED_OTHER, &param) < 0)
        _exit(97);
}

/* What slurmstepd had set is gone when the task looks: it lowers itself. */
START_TEST(reset_behind_our_back)
{
    host_step_t step = a_step();

    if (getuid() != 0)
        return;
    test_load("GuestOomScoreAdj=0\n", false);
    test_record(JOB, "guest", "none", false);
    step.parent_first = true;
    step.prepare = become_normal;
    host_step(&step);
    ck_assert_str_eq(step.out, "guest oom 0\n");
}
END_TEST

/* ---- what PAM or the unit of slurmd allow: chrt -f beats every group ---- */

static rlim_t seen[2];

static void say_limit(void)
{
    const struct sched_param lowest = {.sched_priority = 1};
    struct rlimit limit;

    if (getrlimit(RLIMIT_RTPRIO, &limit) < 0)
        _exit(98);
    dprintf(STDOUT_FILENO, "%lu %lu %s\n", (unsigned long)limit.rlim_cur,
            (unsigned long)limit.rlim_max,
            sched_setscheduler(0, SCHED_FIFO, &lowest) == 0 ? "FIFO" : "refused");
}

/* False without CAP_SYS_RESOURCE. */
static bool allow_realtime(void)
{
    const struct rlimit allowed = {20, 50};

    return setrlimit(RLIMIT_RTPRIO, &allowed) == 0;
}

static void see_own_limit(void)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_RTPRIO, &limit), 0);
    seen[0] = limit.rlim_cur;
    seen[1] = limit.rlim_max;
}

START_TEST(no_realtime_for_guests)
{
    host_step_t step = a_step();

    if (getuid() != 0 || !allow_realtime())
        return;
    test_load("", false);
    test_record(JOB, _i ? "guest" : "primary", "none", false);
    step.program = say_limit;
    step.ended = see_own_limit;
    host_step(&step);
    ck_assert_str_eq(step.err, "");
    if (_i)
        ck_assert_str_eq(step.out, "0 0 refused\n");
    else
        ck_assert_int_eq(strncmp(step.out, "20 50 ", 6), 0);
    /* slurmstepd's later children are the user's too. */
    ck_assert_uint_eq(seen[0], _i ? 0 : 20);
    ck_assert_uint_eq(seen[1], _i ? 0 : 50);
}
END_TEST

/* Raised again after slurmstepd lowered it: the task lowers itself. */
static void raise_limit(void)
{
    if (!allow_realtime())
        _exit(97);
}

START_TEST(realtime_raised_again)
{
    host_step_t step = a_step();

    if (getuid() != 0 || !allow_realtime())
        return;
    test_load("", false);
    test_record(JOB, "guest", "none", false);
    step.program = say_limit;
    step.parent_first = true;
    step.prepare = raise_limit;
    host_step(&step);
    ck_assert_str_eq(step.out, "0 0 refused\n");
}
END_TEST

/* As the user who runs slurmstepd, so that it may look at the task's limits in a
 * container too.  slurmstepd runs with -1000 (here: 7, which needs no privilege);
 * release must never give that to a user's task. */
START_TEST(undo_has_no_daemon_value)
{
    host_step_t step = a_step();
    char path[1024], text[4096] = "";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    ck_assert_int_eq(write(fd, "7", 1), 1);
    close(fd);
    test_load("", false);
    test_record_of(getuid(), JOB, "guest", "none", false);
    step.uid = getuid();
    step.parent_first = true;
    host_step(&step);
    ck_assert_str_eq(step.out, "guest oom 1000\n");
    snprintf(path, sizeof(path), "%s/state/jobs/%d.undo", test_dir(), JOB);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
    close(fd);
    ck_assert_ptr_nonnull(strstr(text, "oom_score_adj"));
    ck_assert_ptr_null(strstr(text, " 7\n"));
}
END_TEST

START_TEST(state_not_writable)
{
    host_step_t step = a_step();
    char path[1024];

    test_load("", false);
    test_record(JOB, "guest", "none", false);
    snprintf(path, sizeof(path), "%s/state/jobs/%d.undo", test_dir(), JOB);
    ck_assert_int_eq(symlink("/nonexistent/x", path), 0);
    host_step(&step);
    ck_assert_str_eq(step.out, "guest oom 1000\n");
    ck_assert_int_eq(host_log_count("error:"), 0);
}
END_TEST

/* ---- a node with a v1 cpu hierarchy: the moved task is where the files say ---- */

static const char *cpu_group;

static void show_task(pid_t pid)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)pid);
    test_write(name, "4:cpu:%s\n", cpu_group);
}

static void show_self(void)
{
    show_task(getpid());
}

/* The fake kernel's files are empty for a moment while one of the two writes: not both
 * at once. */
static host_step_t a_step_of_files(void)
{
    host_step_t step = a_step();

    step.forked = show_task;
    step.prepare = show_self;
    step.parent_first = true;
    return step;
}

static void load_v1(bool guest_group)
{
    test_load("", true);
    test_write("proc/self/mountinfo",
               "30 22 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
    test_write("sys/fs/cgroup/cpu/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup/cpu/release_agent", "%s", "");
    test_write("sys/fs/cgroup/cpu/cpu.shares", "1024\n");
    test_write("sys/fs/cgroup/cpu/cpu.idle", "0\n");
    if (!guest_group) {
        test_write("sys/fs/cgroup/cpu/hpcb_guest", "a file, not a group\n");
        return;
    }
    test_write("sys/fs/cgroup/cpu/hpcb_guest/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup/cpu/hpcb_guest/cpu.idle", "0\n");
    test_write("sys/fs/cgroup/cpu/hpcb_guest/cpu.shares", "1024\n");
    test_write("sys/fs/cgroup/cpu/hpcb_guest/job_9/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup/cpu/hpcb_guest/job_9/cpu.idle", "0\n");
    test_write("sys/fs/cgroup/cpu/hpcb_guest/job_9/cpu.shares", "1024\n");
}

START_TEST(idle_group)
{
    host_step_t step = a_step_of_files();

    load_v1(true);
    test_record(JOB, "guest", "none", false);
    cpu_group = "/hpcb_guest/job_9";
    host_step(&step);
    ck_assert_str_eq(step.err, "");
    ck_assert_int_eq(step.status[0], 0);
    ck_assert_int_eq(host_log_count("debug: hpc_balance: guest job 9 step 0: pid "), 1);
    ck_assert_int_eq(host_log_count(": idle-group\n"), 1);
}
END_TEST

/* The write succeeded but the kernel did not move the task, or the group cannot be
 * made: the task itself sees it. */
START_TEST(not_moved)
{
    host_step_t step = a_step_of_files();

    load_v1(_i);
    test_record(JOB, "guest", "none", false);
    cpu_group = "/";
    host_step(&step);
    refused(&step, 1);
}
END_TEST

/* ---- the extern step: no pid from SPANK, no task_init ---- */

static pid_t extern_pid;
static int extern_policy;

static void remember(pid_t pid)
{
    extern_pid = pid;
}

static void look(void)
{
    extern_policy = sched_getscheduler(extern_pid);
}

START_TEST(extern_step)
{
    host_step_t step = a_step();

    test_load("", false);
    test_record(JOB, _i ? "guest" : "primary", "none", false);
    step.step_id = SLURM_EXTERN_CONT;
    step.forked = remember;
    step.program = look;
    host_step(&step);
    ck_assert_int_eq(extern_policy, _i ? SCHED_IDLE : SCHED_OTHER);
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_eq(host_log_count("error:"), 0);
}
END_TEST

/* ---- a wide primary on v2 ---- */

#define SCOPE "/system.slice/slurmstepd.scope/job_9"

static void show_v2(pid_t pid)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)pid);
    test_write(name, "0::" SCOPE "/step_0/user/task_0\n");
}

static long weight(void)
{
    char path[1024];
    long number = -1;
    FILE *file;

    snprintf(path, sizeof(path), "%s/sys/fs/cgroup" SCOPE "/cpu.weight", test_dir());
    file = fopen(path, "re");
    ck_assert(file && fscanf(file, "%ld", &number) == 1);
    fclose(file);
    return number;
}

static void run_v2(void)
{
    host_step_t step = a_step();

    test_load("", true);
    test_write("proc/self/mountinfo",
               "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    test_write("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
    test_write("sys/fs/cgroup/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup" SCOPE "/cpu.idle", "0\n");
    test_write("sys/fs/cgroup" SCOPE "/cpu.weight", "100\n");
    step.tasks = 2;
    step.forked = show_v2;
    host_step(&step);
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_eq(host_log_count("error:"), 0);
}

START_TEST(wide_primaries_weigh_more)
{
    test_record(JOB, "primary", "none", false);
    run_v2();
    ck_assert_int_eq(weight(), 100 * HOST_CPUS);
    ck_assert(test_exists("state/jobs/9.undo"));
}
END_TEST

START_TEST(guests_do_not)
{
    test_record(JOB, "guest", "none", false);
    run_v2();
    ck_assert_int_le(weight(), 100);
}
END_TEST

/* Nobody has set this node up for guests. */
START_TEST(nor_does_what_was_not_recorded)
{
    run_v2();
    ck_assert_int_eq(weight(), 100);
}
END_TEST

TCase *isolation_tests(void)
{
    TCase *tc = tcase_create("isolation");

    tcase_add_checked_fixture(tc, test_setup, test_teardown);
    tcase_add_loop_test(tc, nothing_isolates, 1, 4);
    tcase_add_test(tc, primary_needs_nothing);
    tcase_add_loop_test(tc, node_not_readable, 0, 2);
    tcase_add_loop_test(tc, either_order, 0, 2);
    tcase_add_test(tc, reset_behind_our_back);
    tcase_add_loop_test(tc, no_realtime_for_guests, 0, 2);
    tcase_add_test(tc, realtime_raised_again);
    tcase_add_test(tc, undo_has_no_daemon_value);
    tcase_add_test(tc, state_not_writable);
    tcase_add_test(tc, idle_group);
    tcase_add_loop_test(tc, not_moved, 0, 2);
    tcase_add_loop_test(tc, extern_step, 0, 2);
    tcase_add_test(tc, wide_primaries_weigh_more);
    tcase_add_test(tc, guests_do_not);
    tcase_add_test(tc, nor_does_what_was_not_recorded);
    return tc;
}
