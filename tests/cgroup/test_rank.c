/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A rank's own cpu group, on copies of snapshots (fake_kernel.h): v1 with a group of
 * ours, v2 with Slurm's.  Tasks are real children, because affinities cannot be faked.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/rank.h"
#include "cgroup/task.h"
#include "common/log.h"
#include "policy/share.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/cgroup/real_kernel.h"
#include "tests/common/tmp.h"

#define CPU   "sys/fs/cgroup/cpu/"
#define OURS  CPU "hpcb_balance_5_0_"
#define USER  "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4/step_0/user/"
#define METER "sys/fs/cgroup/unified/hpcb/job_5/0.0/"

static const char *root;
static hpcb_node_t *node;
static hpcb_undo_t *undo;
static char state[TEST_TMP_MAX];
static hpcb_error_t err;

static void no_log(hpcb_log_level_t level, const char *line)
{
    (void)level;
    (void)line;
}

static void begin(const char *snapshot, uint32_t job)
{
    root = fake_start(snapshot);
    test_tmp_dir(state);
    ck_assert_int_eq(hpcb_node_open(root, &node, &err), 0);
    ck_assert_int_eq(hpcb_undo_open(state, job, &undo, &err), 0);
}

static void setup_v1(void)
{
    begin("v1-hybrid", 5);
}

static void setup_v2(void)
{
    begin("v2-slurm22", 4);
}

static void teardown(void)
{
    hpcb_undo_close(undo);
    hpcb_node_close(node);
    fake_stop();
}

static void put(const char *name, const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    fake_write(name, text);
}

/* A task of v2's job 4, in a directory of its own. */
static pid_t task_v2(unsigned number)
{
    pid_t pid = fake_task(100);
    char name[PATH_MAX], text[PATH_MAX];

    snprintf(name, sizeof(name), USER "task_%u/cpu.weight", number);
    put(name, "100\n");
    snprintf(name, sizeof(name), USER "task_%u/cgroup.procs", number);
    snprintf(text, sizeof(text), "%d\n", (int)pid);
    put(name, text);
    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)pid);
    snprintf(text, sizeof(text),
             "0::/system.slice/slurmstepd.scope/job_4/step_0/user/task_%u\n", number);
    put(name, text);
    return pid;
}

static hpcb_rank_spec_t spec(uint32_t job, uint32_t task, pid_t pid)
{
    return (hpcb_rank_spec_t){.node = node,
                              .job_id = job,
                              .step = "0",
                              .task = task,
                              .pid = pid,
                              .cgroup = "hpcb_balance",
                              .undo = undo};
}

static hpcb_rank_t *open_rank(uint32_t job, uint32_t task, pid_t pid)
{
    hpcb_rank_spec_t what = spec(job, task, pid);
    hpcb_rank_t *rank = NULL;

    ck_assert_msg(hpcb_rank_open(&what, &rank, &err) == 0, "%s", err.text);
    return rank;
}

static bool holds(const char *procs, pid_t pid)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", (int)pid);
    return strstr(fake_read(procs), text) != NULL;
}

/* The knob takes what the kernel would read, and what was there comes back. */
START_TEST(v1_limits)
{
    hpcb_rank_t *rank;

    put(CPU "cpu.cfs_quota_us", "-1\n");
    put(CPU "cpu.cfs_period_us", "100000\n");
    rank = open_rank(5, 0, fake_task(100));
    ck_assert_int_eq(hpcb_rank_limit(rank, HPCB_SHARE_ONE, &err), 0);
    ck_assert_str_eq(fake_read(OURS "0/cpu.cfs_period_us"), "100000");
    ck_assert_int_eq(hpcb_rank_limit(rank, 250000, &err), 0);
    ck_assert_str_eq(fake_read(OURS "0/cpu.cfs_quota_us"), "2500");
    ck_assert_str_eq(fake_read(OURS "0/cpu.cfs_period_us"), "10000");
    ck_assert_int_eq(hpcb_rank_limit(rank, 1, &err), 0);
    ck_assert_str_eq(fake_read(OURS "0/cpu.cfs_quota_us"), "1000");
    ck_assert_int_eq(hpcb_rank_limit(rank, HPCB_SHARE_ONE, &err), 0);
    ck_assert_str_eq(fake_read(OURS "0/cpu.cfs_quota_us"), "-1");
    ck_assert_int_eq(hpcb_rank_limit(rank, 500000, &err), 0);
    hpcb_rank_leave(rank);
    ck_assert_str_eq(fake_read(OURS "0/cpu.cfs_quota_us"), "-1");
    ck_assert_str_eq(fake_read(OURS "0/cpu.cfs_period_us"), "100000");
}
END_TEST

START_TEST(v2_limits)
{
    pid_t pid = task_v2(0);
    hpcb_rank_t *rank;

    put(USER "task_0/cpu.max", "max 100000\n");
    rank = open_rank(4, 0, pid);
    ck_assert_int_eq(hpcb_rank_limit(rank, 250000, &err), 0);
    ck_assert_str_eq(fake_read(USER "task_0/cpu.max"), "2500 10000");
    ck_assert_int_eq(hpcb_rank_limit(rank, HPCB_SHARE_ONE, &err), 0);
    ck_assert_str_eq(fake_read(USER "task_0/cpu.max"), "max 10000");
    ck_assert_int_eq(hpcb_rank_limit(rank, 125000, &err), 0);
    hpcb_rank_close(rank);
    ck_assert_str_eq(fake_read(USER "task_0/cpu.max"), "max 100000");
}
END_TEST

/* hpcbd has been killed: what replays the undo log knows of limits too. */
START_TEST(limits_are_undone_after_a_crash)
{
    pid_t pid = task_v2(0);
    hpcb_rank_t *rank;

    put(USER "task_0/cpu.max", "max 100000\n");
    rank = open_rank(4, 0, pid);
    ck_assert_int_eq(hpcb_rank_limit(rank, 250000, &err), 0);
    ck_assert_int_gt(hpcb_ranks_release(node, state, "hpcb_balance", &err), 0);
    ck_assert_str_eq(fake_read(USER "task_0/cpu.max"), "max 100000");
    hpcb_rank_close(rank);
}
END_TEST

START_TEST(a_quota_of_somebody_else_stays)
{
    pid_t pid = task_v2(0);
    hpcb_rank_t *rank;

    put(USER "task_0/cpu.max", "50000 100000\n");
    rank = open_rank(4, 0, pid);
    ck_assert_int_eq(hpcb_rank_limit(rank, 250000, &err), -1);
    ck_assert_int_eq(errno, EBUSY);
    ck_assert_str_eq(fake_read(USER "task_0/cpu.max"), "50000 100000");
    hpcb_rank_close(rank);
}
END_TEST

/* Or each pull would add to the undo log. */
START_TEST(a_limit_that_failed_is_not_tried_again)
{
    pid_t pid = task_v2(0);
    hpcb_rank_t *rank;

    put(USER "task_0/cpu.max", "nonsense\n");
    rank = open_rank(4, 0, pid);
    ck_assert_int_eq(hpcb_rank_limit(rank, 250000, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    put(USER "task_0/cpu.max", "max 100000\n");
    ck_assert_int_eq(hpcb_rank_limit(rank, 250000, &err), -1);
    ck_assert_int_eq(errno, EBUSY);
    ck_assert_str_eq(fake_read(USER "task_0/cpu.max"), "max 100000");
    hpcb_rank_close(rank);
}
END_TEST

START_TEST(v1_makes_a_group_and_removes_it)
{
    pid_t pid = fake_task(100), other = fake_task(100);
    hpcb_rank_t *rank = open_rank(5, 0, pid);

    ck_assert_str_eq(fake_read(OURS "0/cpu.shares"), "1024");
    ck_assert(holds(OURS "0/cgroup.procs", pid));
    ck_assert(!holds(OURS "0/cgroup.procs", other));
    ck_assert_uint_eq(hpcb_rank_top(rank), 1024);
    ck_assert_int_eq(hpcb_rank_weigh(rank, 341, &err), 0);
    ck_assert_str_eq(fake_read(OURS "0/cpu.shares"), "341");
    hpcb_rank_close(rank);
    ck_assert_str_eq(fake_read(OURS "0/cpu.shares"), "(none)");
    ck_assert(holds(CPU "cgroup.procs", pid));
}
END_TEST

/* Another process may do it before and afterwards: what the kernel makes wait. */
START_TEST(v1_what_waits_can_be_done_by_another)
{
    pid_t pid = fake_task(100);
    hpcb_rank_spec_t what = spec(5, 0, pid);
    hpcb_rank_t *rank;
    int changes;

    ck_assert(hpcb_rank_moves(&what));
    hpcb_rank_gather(&what);
    ck_assert(holds(OURS "0/cgroup.procs", pid));
    changes = fake_changes();
    rank = open_rank(5, 0, pid);
    /* Its weight, and a mkdir of what is there. */
    ck_assert_int_le(fake_changes() - changes, 2);
    ck_assert_int_eq(hpcb_rank_weigh(rank, 341, &err), 0);
    hpcb_rank_leave(rank);
    ck_assert_str_eq(fake_read(OURS "0/cpu.shares"), "1024");
    ck_assert(holds(OURS "0/cgroup.procs", pid));
    hpcb_rank_scatter(&what);
    ck_assert_str_eq(fake_read(OURS "0/cpu.shares"), "(none)");
    ck_assert(holds(CPU "cgroup.procs", pid));
}
END_TEST

START_TEST(v1_a_task_that_has_ended_leaves_no_group)
{
    pid_t pid = fake_task(100);
    hpcb_rank_spec_t what = spec(5, 0, pid);

    hpcb_rank_gather(&what);
    what.pid = INT_MAX;
    hpcb_rank_scatter(&what);
    ck_assert_str_eq(fake_read(OURS "0/cpu.shares"), "(none)");
}
END_TEST

START_TEST(v2_moves_nothing)
{
    pid_t pid = task_v2(0);
    hpcb_rank_spec_t what = spec(4, 0, pid);
    int changes = fake_changes();

    ck_assert(!hpcb_rank_moves(&what));
    hpcb_rank_gather(&what);
    hpcb_rank_scatter(&what);
    ck_assert_int_eq(fake_changes(), changes);
}
END_TEST

/* What it has started before it had a group: the meter knows. */
START_TEST(v1_takes_in_what_the_meter_has)
{
    pid_t pid = fake_task(100), child = fake_task(100), elsewhere = fake_task(100);
    char text[64], name[64];
    hpcb_rank_t *rank;

    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)elsewhere);
    put(name, "1:cpu:/somebodys\n0::/\n");
    snprintf(text, sizeof(text), "%d\n%d\n%d\n", (int)pid, (int)child, (int)elsewhere);
    put(METER "cgroup.procs", text);
    rank = open_rank(5, 0, pid);
    ck_assert(holds(OURS "0/cgroup.procs", child));
    ck_assert(!holds(OURS "0/cgroup.procs", elsewhere));
    hpcb_rank_close(rank);
}
END_TEST

START_TEST(v1_leaves_tasks_in_other_groups_alone)
{
    hpcb_rank_t *rank = NULL;
    hpcb_rank_spec_t what = spec(5, 0, fake_task(100));
    char name[64];

    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)what.pid);
    put(name, "1:cpu:/hpcb_window_5\n0::/\n");
    ck_assert_int_eq(hpcb_rank_open(&what, &rank, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "not in the root group"));
    ck_assert_str_eq(fake_read(OURS "0/cpu.shares"), "(none)");
}
END_TEST

START_TEST(v2_uses_slurms_group_and_gives_the_weight_back)
{
    pid_t pid = task_v2(0);
    hpcb_rank_t *rank;

    put(USER "task_0/cpu.weight", "70\n");
    rank = open_rank(4, 0, pid);
    ck_assert_uint_eq(hpcb_rank_top(rank), 70);
    ck_assert_int_eq(hpcb_rank_weigh(rank, 14, &err), 0);
    ck_assert_str_eq(fake_read(USER "task_0/cpu.weight"), "14");
    hpcb_rank_close(rank);
    ck_assert_str_eq(fake_read(USER "task_0/cpu.weight"), "70");
}
END_TEST

START_TEST(v2_without_groups_of_tasks_says_so)
{
    hpcb_rank_spec_t what = spec(4, 0, fake_task(100));
    hpcb_rank_t *rank = NULL;

    ck_assert_int_eq(hpcb_rank_open(&what, &rank, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "no cpu groups of their own"));
}
END_TEST

/* Two ranks with weights, and killed at the nth change. */
static void crash_at(int nth, uint32_t job, pid_t first, pid_t second)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        hpcb_rank_t *a, *b;

        fake_crash_at(nth);
        a = open_rank(job, 0, first);
        b = open_rank(job, 1, second);
        hpcb_rank_weigh(a, 50, NULL);
        hpcb_rank_weigh(b, 30, NULL);
        hpcb_rank_pin(a, 0, NULL);
        raise(SIGKILL);
    }
    waitpid(child, &status, 0);
    ck_assert(WIFSIGNALED(status));
    ck_assert_msg(hpcb_ranks_release(node, state, "hpcb_balance", &err) >= 0, "%s",
                  err.text);
    ck_assert_int_eq(hpcb_ranks_release(node, state, "hpcb_balance", &err), 0);
}

static bool same_places(pid_t pid)
{
    hpcb_cpus_t mine, its;

    hpcb_task_cpus(0, &mine, NULL);
    hpcb_task_cpus(pid, &its, NULL);
    return hpcb_cpus_equal(&mine, &its);
}

START_TEST(v1_a_crash_leaves_nothing)
{
    pid_t first = fake_task(100), second = fake_task(100);

    crash_at(_i, 5, first, second);
    ck_assert_str_eq(fake_read(OURS "0/cpu.shares"), "(none)");
    ck_assert_str_eq(fake_read(OURS "1/cpu.shares"), "(none)");
    ck_assert(same_places(first));
}
END_TEST

START_TEST(v2_a_crash_leaves_nothing)
{
    pid_t first = task_v2(0), second = task_v2(1);

    crash_at(_i, 4, first, second);
    ck_assert_str_eq(fake_read(USER "task_0/cpu.weight"), "100");
    ck_assert_str_eq(fake_read(USER "task_1/cpu.weight"), "100");
    ck_assert(same_places(first));
}
END_TEST

START_TEST(groups_of_others_are_not_removed)
{
    static const char *const names[] = {"hpcb_balance",         "hpcb_balance_5",
                                        "hpcb_balance_5_0",     "hpcb_balance_5_0_1x",
                                        "hpcb_balance_5_0_1_2", "other_5_0_1",
                                        "hpcb_balance__0_1"};
    char name[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(name, sizeof(name), CPU "%s/cgroup.procs", names[i]);
        put(name, "");
    }
    ck_assert_int_eq(hpcb_ranks_release(node, state, "hpcb_balance", &err), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(name, sizeof(name), CPU "%s/cgroup.procs", names[i]);
        ck_assert_str_eq(fake_read(name), "");
    }
}
END_TEST

static bool is_on(pid_t tid, unsigned cpu)
{
    hpcb_cpus_t cpus;

    return hpcb_task_cpus(tid, &cpus, NULL) == 0 && hpcb_cpus_count(&cpus) == 1 &&
           hpcb_cpus_has(&cpus, cpu);
}

static unsigned last_cpu(void)
{
    hpcb_cpus_t mine;
    unsigned last = 0;

    hpcb_task_cpus(0, &mine, NULL);
    for (unsigned cpu = hpcb_cpus_from(&mine, 0); cpu < HPCB_CPUS_MAX;
         cpu = hpcb_cpus_from(&mine, cpu + 1))
        last = cpu;
    return last;
}

/* A child that is forked while its parent is pinned has its places from us. */
START_TEST(places_come_back_also_for_children)
{
    unsigned cpu = last_cpu();
    pid_t pid = fake_task(100), child;
    hpcb_rank_t *rank = open_rank(5, 0, pid);
    cpu_set_t one;
    char text[64];

    ck_assert_int_eq(hpcb_rank_pin(rank, cpu, &err), 0);
    ck_assert(is_on(pid, cpu));
    child = fake_task(100);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ck_assert_int_eq(sched_setaffinity(child, sizeof(one), &one), 0);
    snprintf(text, sizeof(text), "%d\n%d\n", (int)pid, (int)child);
    put(OURS "0/cgroup.procs", text);
    if (_i == 0)
        ck_assert_int_eq(hpcb_rank_look(rank, &err), 0);
    hpcb_rank_close(rank);
    ck_assert(same_places(pid));
    ck_assert(same_places(child));
}
END_TEST

static void *wait_for_ever(void *arg)
{
    cpu_set_t one;

    (void)arg;
    CPU_ZERO(&one);
    CPU_SET(last_cpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
    for (;;)
        pause();
    return NULL;
}

/* This process, with a thread that has chosen its own place. */
START_TEST(programs_that_place_their_threads_are_left_alone)
{
    hpcb_rank_t *rank;
    pthread_t thread;
    char name[64];

    if (last_cpu() == 0)
        return;
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_ever, NULL), 0);
    real_sleep_ms(50);
    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)getpid());
    put(name, "1:cpu:/\n0::/\n");
    rank = open_rank(5, 0, getpid());
    ck_assert_int_eq(hpcb_rank_pin(rank, 0, &err), -1);
    ck_assert_int_eq(errno, ENOTUNIQ);
    ck_assert(!is_on(getpid(), 0));
    hpcb_rank_close(rank);
}
END_TEST

static int told(int fd)
{
    char byte;

    return read(fd, &byte, 1) == 1;
}

/* A child that has not yet become another program. */
START_TEST(whether_a_task_has_begun)
{
    int to[2];
    pid_t pid;

    ck_assert_int_eq(pipe(to), 0);
    pid = fork();
    if (pid == 0) {
        close(to[1]);
        if (told(to[0]))
            execl("/bin/sleep", "sleep", "60", NULL);
        _exit(1);
    }
    ck_assert(!hpcb_task_begun(pid));
    ck_assert_int_eq(write(to[1], "x", 1), 1);
    for (int i = 0; i < 1000 && !hpcb_task_begun(pid); i++)
        real_sleep_ms(10);
    ck_assert(hpcb_task_begun(pid));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert(hpcb_task_begun(pid));
}
END_TEST

START_TEST(times_are_summed)
{
    pid_t pid = fake_task(100), child = fake_task(100);
    hpcb_rank_t *rank = open_rank(5, 0, pid);
    hpcb_rank_times_t times = {0, 0};
    char text[64];

    ck_assert_int_eq(hpcb_rank_times(rank, &times), -1);
    snprintf(text, sizeof(text), "%d\n%d\n", (int)pid, (int)child);
    put(OURS "0/cgroup.procs", text);
    snprintf(text, sizeof(text), "proc/%d/schedstat", (int)pid);
    put(text, "100 20 7\n");
    snprintf(text, sizeof(text), "proc/%d/schedstat", (int)child);
    put(text, "5 1 2\n");
    ck_assert_int_eq(hpcb_rank_times(rank, &times), 0);
    ck_assert_uint_eq(times.run_ns, 105);
    ck_assert_uint_eq(times.delay_ns, 21);
    hpcb_rank_close(rank);
}
END_TEST

START_TEST(a_rank_of_thousands_of_processes_has_times)
{
    pid_t pid = fake_task(100);
    hpcb_rank_t *rank = open_rank(5, 0, pid);
    hpcb_rank_times_t times = {0, 0};
    char text[64], *all = calloc(40000, 8);
    size_t used;

    ck_assert_ptr_nonnull(all);
    used = (size_t)sprintf(all, "%d\n", (int)pid);
    for (int i = 0; i < 30000; i++)
        used += (size_t)sprintf(all + used, "%d\n", 4000000 + i);
    put(OURS "0/cgroup.procs", all);
    free(all);
    snprintf(text, sizeof(text), "proc/%d/schedstat", (int)pid);
    put(text, "100 20 7\n");
    ck_assert_int_eq(hpcb_rank_times(rank, &times), 0);
    ck_assert_uint_eq(times.run_ns, 100);
    put(OURS "0/cgroup.procs", "");
    hpcb_rank_close(rank);
}
END_TEST

START_TEST(a_weight_that_somebody_else_changes_is_noticed)
{
    hpcb_rank_t *rank = open_rank(4, 0, task_v2(0));

    ck_assert_int_eq(hpcb_rank_weigh(rank, 20, &err), 0);
    ck_assert_int_eq(hpcb_rank_look(rank, &err), 0);
    put(USER "task_0/cpu.weight", "100\n");
    ck_assert_int_eq(hpcb_rank_look(rank, &err), -1);
    ck_assert_int_eq(errno, ESTALE);
    hpcb_rank_close(rank);
}
END_TEST

START_TEST(a_group_that_goes_is_noticed)
{
    pid_t pid = task_v2(0);
    hpcb_rank_t *rank = open_rank(4, 0, pid);
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/" USER "task_0/cpu.weight", root);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(hpcb_rank_weigh(rank, 20, &err), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(hpcb_rank_look(rank, &err), -1);
    ck_assert_int_eq(errno, ENOENT);
    hpcb_rank_close(rank);
}
END_TEST

/* hpcbctl release, beside a daemon that lives, which is killed later. */
START_TEST(what_is_changed_after_a_release_is_undone_too)
{
    pid_t pid = task_v2(0);
    unsigned cpu = last_cpu();
    hpcb_rank_t *rank;

    put(USER "task_0/cpu.max", "max 100000\n");
    rank = open_rank(4, 0, pid);
    for (uint32_t weight = 20; weight < 23; weight++) {
        ck_assert_int_eq(hpcb_rank_weigh(rank, weight, &err), 0);
        ck_assert_int_eq(hpcb_rank_limit(rank, weight * 10000, &err), 0);
        ck_assert_int_eq(hpcb_rank_pin(rank, cpu, &err), 0);
        ck_assert_int_eq(hpcb_rank_look(rank, &err), 0);
        ck_assert_str_ne(fake_read(USER "task_0/cpu.weight"), "100");
        ck_assert_str_ne(fake_read(USER "task_0/cpu.max"), "max 100000");
        ck_assert(is_on(pid, cpu));
        ck_assert_int_gt(hpcb_ranks_release(node, state, "hpcb_balance", &err), 0);
        ck_assert_str_eq(fake_read(USER "task_0/cpu.weight"), "100");
        ck_assert_str_eq(fake_read(USER "task_0/cpu.max"), "max 100000");
        ck_assert(same_places(pid));
    }
    hpcb_rank_close(rank);
}
END_TEST

/* A log of one kind of change only: each renews it. */
START_TEST(each_change_after_a_release_is_noted)
{
    pid_t pid = task_v2(0);
    unsigned cpu = last_cpu();
    hpcb_rank_t *rank;

    put(USER "task_0/cpu.max", "max 100000\n");
    rank = open_rank(4, 0, pid);
    ck_assert_int_eq(hpcb_rank_limit(rank, 250000, &err), 0);
    ck_assert_int_eq(hpcb_rank_pin(rank, cpu, &err), 0);
    ck_assert_int_gt(hpcb_ranks_release(node, state, "hpcb_balance", &err), 0);
    ck_assert_int_eq(hpcb_rank_weigh(rank, 20, &err), 0);
    ck_assert_int_gt(hpcb_ranks_release(node, state, "hpcb_balance", &err), 0);
    ck_assert_str_eq(fake_read(USER "task_0/cpu.weight"), "100");
    ck_assert_int_eq(hpcb_rank_limit(rank, 500000, &err), 0);
    ck_assert_int_gt(hpcb_ranks_release(node, state, "hpcb_balance", &err), 0);
    ck_assert_str_eq(fake_read(USER "task_0/cpu.max"), "max 100000");
    ck_assert_int_eq(hpcb_rank_weigh(rank, 100, &err), 0);
    ck_assert_int_gt(hpcb_ranks_release(node, state, "hpcb_balance", &err), 0);
    ck_assert_int_eq(hpcb_rank_look(rank, &err), 0);
    ck_assert(is_on(pid, cpu));
    ck_assert_int_gt(hpcb_ranks_release(node, state, "hpcb_balance", &err), 0);
    ck_assert(same_places(pid));
    hpcb_rank_close(rank);
}
END_TEST

/* A quota is a part of the period, which a release has given back. */
START_TEST(v1_a_limit_after_a_release_has_its_period)
{
    hpcb_rank_t *rank;

    put(CPU "cpu.cfs_quota_us", "-1\n");
    put(CPU "cpu.cfs_period_us", "100000\n");
    rank = open_rank(5, 0, fake_task(100));
    ck_assert_int_eq(hpcb_rank_limit(rank, 250000, &err), 0);
    ck_assert_int_gt(hpcb_undo_replay(state, 5, &err), 0);
    ck_assert_str_eq(fake_read(OURS "0/cpu.cfs_period_us"), "100000");
    ck_assert_int_eq(hpcb_rank_limit(rank, 300000, &err), 0);
    ck_assert_str_eq(fake_read(OURS "0/cpu.cfs_period_us"), "10000");
    ck_assert_str_eq(fake_read(OURS "0/cpu.cfs_quota_us"), "3000");
    hpcb_rank_close(rank);
}
END_TEST

/* More changes than crash_at makes. */
#define CRASHES 14

int main(void)
{
    Suite *suite = suite_create("rank");
    SRunner *sr = srunner_create(suite);
    TCase *v1 = tcase_create("v1"), *v2 = tcase_create("v2");
    int failed;

    hpcb_log_set_sink(no_log);
    tcase_add_checked_fixture(v1, setup_v1, teardown);
    tcase_add_test(v1, v1_makes_a_group_and_removes_it);
    tcase_add_test(v1, v1_limits);
    tcase_add_test(v1, v1_a_limit_after_a_release_has_its_period);
    tcase_add_test(v1, v1_what_waits_can_be_done_by_another);
    tcase_add_test(v1, v1_a_task_that_has_ended_leaves_no_group);
    tcase_add_test(v1, v1_takes_in_what_the_meter_has);
    tcase_add_test(v1, v1_leaves_tasks_in_other_groups_alone);
    tcase_add_loop_test(v1, v1_a_crash_leaves_nothing, 1, CRASHES);
    tcase_add_test(v1, groups_of_others_are_not_removed);
    tcase_add_loop_test(v1, places_come_back_also_for_children, 0, 2);
    tcase_add_test(v1, programs_that_place_their_threads_are_left_alone);
    tcase_add_test(v1, whether_a_task_has_begun);
    tcase_add_test(v1, times_are_summed);
    tcase_add_test(v1, a_rank_of_thousands_of_processes_has_times);
    suite_add_tcase(suite, v1);
    tcase_add_checked_fixture(v2, setup_v2, teardown);
    tcase_add_test(v2, v2_uses_slurms_group_and_gives_the_weight_back);
    tcase_add_test(v2, v2_moves_nothing);
    tcase_add_test(v2, v2_limits);
    tcase_add_test(v2, limits_are_undone_after_a_crash);
    tcase_add_test(v2, what_is_changed_after_a_release_is_undone_too);
    tcase_add_test(v2, each_change_after_a_release_is_noted);
    tcase_add_test(v2, a_quota_of_somebody_else_stays);
    tcase_add_test(v2, a_limit_that_failed_is_not_tried_again);
    tcase_add_test(v2, v2_without_groups_of_tasks_says_so);
    tcase_add_loop_test(v2, v2_a_crash_leaves_nothing, 1, CRASHES);
    tcase_add_test(v2, a_weight_that_somebody_else_changes_is_noticed);
    tcase_add_test(v2, a_group_that_goes_is_noticed);
    suite_add_tcase(suite, v2);
    srunner_run_all(sr, CK_ENV);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? 1 : 0;
}
