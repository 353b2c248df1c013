/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests beside primaries on one core, on copies of snapshots (fake_kernel.h) with one
 * core of two threads, CPUs 0 and 1.  Tasks are real children, because affinities
 * cannot be faked; core scheduling is (fake_core.h).  Overview: topology, the cookie,
 * then keeping off and throttling on v1 and v2, then what goes wrong.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cgroup/core_sched.h"
#include "cgroup/cores.h"
#include "cgroup/held.h"
#include "cgroup/siblings.h"
#include "cgroup/task.h"
#include "common/log.h"
#include "tests/cgroup/fake_core.h"
#include "tests/cgroup/fake_kernel.h"

#define GUESTS   "hpcb_guest"
#define CPU      "sys/fs/cgroup/cpu/"
#define V1_STEPS "sys/fs/cgroup/freezer/slurm_scb1/"
#define V1_SET   "sys/fs/cgroup/cpuset/slurm_scb1/uid_7001/job_5/step_0/cpuset.cpus"
#define V1_QUOTA CPU GUESTS "/job_5/cpu.cfs_quota_us"
#define SCOPE    "sys/fs/cgroup/system.slice/slurmstepd.scope/"
#define V2_TASK  SCOPE "job_4/step_0/user/task_0/"
#define SYS_CPU  "sys/devices/system/cpu/"
#define JOB      5

static const hpcb_siblings_want_t all = {
    .cookie = true, .avoid = true, .throttle = true, .difference = 5};
static const char *root;
static hpcb_node_t *node;
static hpcb_undo_t *undo;
static char state[128];

static void no_log(hpcb_log_level_t level, const char *line)
{
    (void)level;
    (void)line;
}

/* A file with whatever directories it needs. */
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

static void put_pid(const char *dir, pid_t pid)
{
    char name[PATH_MAX + 16], text[16];

    snprintf(name, sizeof(name), "%s/cgroup.procs", dir);
    snprintf(text, sizeof(text), "%d\n", (int)pid);
    put(name, text);
}

/* A process as often as count says, and then another one. */
static void put_many(const char *dir, unsigned count, pid_t many, pid_t last)
{
    char name[PATH_MAX + 16], text[1 << 16];
    size_t used = 0;

    for (unsigned i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%d\n", (int)many);
    snprintf(text + used, sizeof(text) - used, "%d\n", (int)last);
    snprintf(name, sizeof(name), "%s/cgroup.procs", dir);
    put(name, text);
}

static void put_topology(const char *online, const char *siblings)
{
    put(SYS_CPU "online", online);
    put(SYS_CPU "cpu0/topology/thread_siblings_list", siblings);
    put(SYS_CPU "cpu1/topology/thread_siblings_list", siblings);
}

static void begin(const char *snapshot)
{
    hpcb_error_t err;

    hpcb_log_set_sink(no_log);
    root = fake_start(snapshot);
    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
    snprintf(state, sizeof(state), "%s/state", root);
    ck_assert_int_eq(hpcb_undo_open(state, JOB, &undo, NULL), 0);
    put_topology("0-1\n", "0-1\n");
    fake_core_start();
}

static void end(void)
{
    fake_core_stop();
    hpcb_undo_close(undo);
    hpcb_node_close(node);
    fake_stop();
}

static hpcb_target_t guest(pid_t pid)
{
    return (hpcb_target_t){
        .node = node, .pid = pid, .job_id = JOB, .guest_cgroup = GUESTS, .undo = undo};
}

/* False where this machine has too few CPUs. */
static bool bind_to(pid_t pid, const char *list)
{
    hpcb_cpus_t cpus;

    ck_assert_int_eq(hpcb_cpus_parse(list, &cpus), 0);
    return sched_setaffinity(pid, sizeof(cpus), (cpu_set_t *)&cpus) == 0;
}

START_TEST(topology)
{
    static hpcb_cores_t cores;
    hpcb_error_t err;

    begin("v1-hybrid");
    ck_assert_int_eq(hpcb_node_cores(node, &cores, &err), 0);
    ck_assert(cores.smt);
    ck_assert_uint_eq(cores.core[1], 0);
    put(SYS_CPU "cpu0/topology/thread_siblings_list", "0\n");
    put(SYS_CPU "cpu1/topology/thread_siblings_list", "1\n");
    ck_assert_int_eq(hpcb_node_cores(node, &cores, &err), 0);
    ck_assert(!cores.smt);
    ck_assert_uint_eq(cores.core[1], 1);
    put(SYS_CPU "cpu1/topology/thread_siblings_list", "one\n");
    ck_assert_int_eq(hpcb_node_cores(node, &cores, &err), -1);
    put(SYS_CPU "online", "0-7\n");
    put(SYS_CPU "cpu1/topology/thread_siblings_list", "1\n");
    ck_assert_int_eq(hpcb_node_cores(node, &cores, &err), -1);
    end();
}
END_TEST

START_TEST(nothing_without_smt)
{
    static const char *const rows[] = {"core-cookie", "sibling-avoid",
                                       "sibling-throttle"};
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    hpcb_error_t err;

    begin("v1-hybrid");
    put(SYS_CPU "cpu0/topology/thread_siblings_list", "0\n");
    put(SYS_CPU "cpu1/topology/thread_siblings_list", "1\n");
    target = guest(fake_task(100));
    ck_assert_int_eq(hpcb_siblings_lower(&target, &all, &task, &err), 0);
    ck_assert_int_eq(task.plan.how, HPCB_SIBLINGS_NOTHING);
    ck_assert_uint_eq(fake_core_cookie(target.pid), 0);
    ck_assert_str_eq(hpcb_siblings_state(&target, &err), "");
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(hpcb_mechanism_find(rows[i])->probe(node, &err), -1);
        ck_assert_ptr_nonnull(strstr(err.text, "two threads"));
    }
    ck_assert_int_eq(fake_changes(), 0);
    end();
}
END_TEST

static void lower(const hpcb_target_t *target, const hpcb_siblings_want_t *want,
                  hpcb_siblings_task_t *task, hpcb_siblings_how_t how)
{
    hpcb_error_t err = {""};

    ck_assert_msg(hpcb_siblings_lower(target, want, task, &err) == 0, "%s", err.text);
    ck_assert_int_eq(task->plan.how, how);
}

START_TEST(one_cookie_a_job)
{
    hpcb_siblings_task_t tasks[3] = {{0}};
    hpcb_target_t one, two, other;
    hpcb_error_t err;

    begin("v1-hybrid");
    one = guest(fake_task(100));
    two = guest(fake_task(100));
    lower(&one, &all, &tasks[0], HPCB_SIBLINGS_NOTHING);
    ck_assert(tasks[0].plan.cookie);
    ck_assert_uint_ne(fake_core_cookie(one.pid), 0);
    /* The job's first task is found in another step. */
    put_pid(V1_STEPS "uid_7001/job_5/step_batch", one.pid);
    lower(&two, &all, &tasks[1], HPCB_SIBLINGS_NOTHING);
    ck_assert_uint_eq(fake_core_cookie(two.pid), fake_core_cookie(one.pid));
    ck_assert_uint_eq(fake_core_cookie(0), 0); /* nobody else's business */
    ck_assert_str_eq(hpcb_siblings_state(&two, &err), "core-cookie");
    /* It has gone: one of its own. */
    put_pid(V1_STEPS "uid_7001/job_5/step_batch", 999999);
    other = guest(fake_task(100));
    lower(&other, &all, &tasks[2], HPCB_SIBLINGS_NOTHING);
    ck_assert_uint_ne(fake_core_cookie(other.pid), 0);
    ck_assert_uint_ne(fake_core_cookie(other.pid), fake_core_cookie(one.pid));
    /* Undone from the log. */
    ck_assert_int_ge(hpcb_undo_replay(state, JOB, NULL), 3);
    ck_assert_uint_eq(fake_core_cookie(one.pid), 0);
    ck_assert_uint_eq(fake_core_cookie(two.pid), 0);
    end();
}
END_TEST

/* slurmd was started with a cookie, so primaries have it too. */
START_TEST(not_the_cookie_that_primaries_have)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("core-cookie");
    hpcb_target_t target;

    begin("v1-hybrid");
    target = guest(fake_task(100));
    fake_core_set(0, 77);
    fake_core_set(target.pid, 77);
    put_pid(V1_STEPS "uid_7001/job_5/step_batch", 4242);
    fake_core_set(4242, 77);
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    ck_assert_uint_ne(fake_core_cookie(target.pid), 77);
    ck_assert_uint_ne(fake_core_cookie(target.pid), 0);
    /* Nobody in the thread that puts it back has 77 but by its parent. */
    ck_assert_int_eq(hpcb_task_set(target.pid, "core-cookie", "12", NULL), -1);
    ck_assert_int_eq(errno, ESRCH);
    ck_assert_int_eq(hpcb_task_set(target.pid, "core-cookie", "-1", NULL), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(hpcb_task_set(target.pid, "core-cookie", "0x", NULL), -1);
    ck_assert_int_eq(errno, EINVAL);
    end();
}
END_TEST

START_TEST(a_carrier_that_changes_is_not_followed)
{
    hpcb_error_t err;

    begin("v1-hybrid");
    fake_core_set(4242, 5);
    ck_assert_int_eq(hpcb_core_share(4242, 6, 4243, &err), -1);
    ck_assert_int_eq(errno, ESTALE);
    ck_assert_uint_eq(fake_core_cookie(4243), 0);
    ck_assert_int_eq(hpcb_core_share(4242, 5, 4243, &err), 0);
    ck_assert_uint_eq(fake_core_cookie(4243), 5);
    ck_assert_int_eq(hpcb_siblings_free(4243, &err), 0);
    ck_assert_uint_eq(fake_core_cookie(4243), 0);
    end();
}
END_TEST

START_TEST(lost_cookies_come_back)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    unsigned from = 0;
    pid_t child, who;

    begin("v1-hybrid");
    target = guest(fake_task(100));
    child = fake_task(100);
    lower(&target, &all, &task, HPCB_SIBLINGS_NOTHING);
    put_pid(V1_STEPS "uid_7001/job_5/step_batch", target.pid);
    put_pid(V1_STEPS "uid_7001/job_5/step_0", child);
    ck_assert_uint_eq(hpcb_siblings_mend(&target, &from, &who), 1);
    ck_assert_int_eq(who, child);
    ck_assert_uint_eq(fake_core_cookie(child), fake_core_cookie(target.pid));
    ck_assert_uint_eq(hpcb_siblings_mend(&target, &from, &who), 0);
    /* All of them. */
    fake_core_set(child, 0);
    fake_core_set(target.pid, 0);
    ck_assert_uint_eq(hpcb_siblings_mend(&target, &from, &who), 2);
    ck_assert_uint_ne(fake_core_cookie(target.pid), 0);
    ck_assert_uint_eq(fake_core_cookie(child), fake_core_cookie(target.pid));
    end();
}
END_TEST

/* One round does not get to it: the next one begins where that ended. */
START_TEST(nobody_hides_behind_many)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    unsigned from = 0;
    pid_t child, who;

    begin("v1-hybrid");
    target = guest(fake_task(100));
    child = fake_task(100);
    lower(&target, &all, &task, HPCB_SIBLINGS_NOTHING);
    put_many(V1_STEPS "uid_7001/job_5/step_0", 5000, target.pid, child);
    ck_assert_uint_eq(hpcb_siblings_mend(&target, &from, &who), 0);
    ck_assert_uint_gt(from, 0);
    ck_assert_uint_eq(hpcb_siblings_mend(&target, &from, &who), 1);
    ck_assert_int_eq(who, child);
    ck_assert_uint_eq(from, 0);
    end();
}
END_TEST

/* A guest of job 5 in its group, as v1-hybrid has it, with a cpuset of its step, on a
 * kernel without core scheduling. */
static hpcb_target_t v1_guest(const char *cpus)
{
    hpcb_target_t target;
    hpcb_error_t err;

    begin("v1-hybrid");
    fake_core_fail(EINVAL);
    put(CPU "cpu.cfs_quota_us", "-1\n");
    put(CPU "cpu.cfs_period_us", "100000\n");
    put(V1_SET, cpus);
    target = guest(fake_task(100));
    bind_to(target.pid, cpus);
    ck_assert_msg(hpcb_isolate(&target, &err) != NULL, "%s", err.text);
    return target;
}

/* The process of a primary, job 6 of user 7002. */
static pid_t v1_primary(const char *step, const char *cpus)
{
    char dir[256];
    pid_t pid = fake_task(100);

    ck_assert(bind_to(pid, cpus));
    snprintf(dir, sizeof(dir), V1_STEPS "uid_7002/job_6/%s", step);
    put_pid(dir, pid);
    return pid;
}

static bool two_cpus(void)
{
    hpcb_cpus_t cpus;

    return hpcb_task_cpus(0, &cpus, NULL) == 0 && hpcb_cpus_has(&cpus, 0) &&
           hpcb_cpus_has(&cpus, 1);
}

START_TEST(throttled_beside_a_primary)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    hpcb_error_t err;

    if (!two_cpus())
        return;
    target = v1_guest("1");
    lower(&target, &all, &task, HPCB_SIBLINGS_NOTHING);
    ck_assert_str_eq(fake_read(V1_QUOTA), "-1");
    ck_assert_str_eq(hpcb_siblings_state(&target, &err), "none needed");
    v1_primary("step_0", "0");
    ck_assert_ptr_null(hpcb_siblings_state(&target, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "CPUs 1"));
    lower(&target, &all, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_str_eq(fake_read(V1_QUOTA), "1000");
    ck_assert_str_eq(fake_read(CPU GUESTS "/cpu.cfs_quota_us"), "-1");
    ck_assert_str_eq(fake_read(CPU GUESTS "/cpu.idle"), "1");
    ck_assert_str_eq(hpcb_siblings_state(&target, &err), "sibling-throttle");
    /* The primary has ended. */
    put_pid(V1_STEPS "uid_7002/job_6/step_0", 999999);
    lower(&target, &all, &task, HPCB_SIBLINGS_NOTHING);
    ck_assert_str_eq(fake_read(V1_QUOTA), "-1");
    end();
}
END_TEST

START_TEST(throttled_by_the_table)
{
    static const char *const quotas[] = {"200000", "100000", "50000",
                                         "25000",  "12500",  "2000"};
    hpcb_siblings_want_t want = {
        .avoid = true, .throttle = true, .difference = (unsigned)_i};
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;

    if (!two_cpus())
        return;
    /* Both threads of the guest's core are the primary's: both count. */
    target = v1_guest("0-1");
    v1_primary("step_0", "0-1");
    lower(&target, &want, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_str_eq(fake_read(V1_QUOTA), quotas[_i]);
    ck_assert_int_ge(hpcb_undo_replay(state, JOB, NULL), 1);
    ck_assert_str_eq(fake_read(V1_QUOTA), "-1");
    end();
}
END_TEST

START_TEST(kept_on_the_primarys_own_thread)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;

    if (!two_cpus())
        return;
    target = v1_guest("0-1");
    v1_primary("step_0", "0");
    bind_to(target.pid, "0"); /* what the cpuset does to the task */
    lower(&target, &all, &task, HPCB_SIBLINGS_AVOID);
    ck_assert_str_eq(fake_read(V1_SET), "0");
    ck_assert_str_eq(fake_read(V1_QUOTA), "-1");
    /* Now it holds both: no thread is left. */
    v1_primary("step_0", "0-1");
    lower(&target, &all, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_str_eq(fake_read(V1_SET), "0-1");
    ck_assert_str_eq(fake_read(V1_QUOTA), "2000");
    /* And now the other one. */
    v1_primary("step_0", "1");
    bind_to(target.pid, "1");
    lower(&target, &all, &task, HPCB_SIBLINGS_AVOID);
    ck_assert_str_eq(fake_read(V1_SET), "1");
    ck_assert_str_eq(fake_read(V1_QUOTA), "-1");
    ck_assert_int_ge(hpcb_undo_replay(state, JOB, NULL), 2);
    ck_assert_str_eq(fake_read(V1_SET), "0-1");
    end();
}
END_TEST

/* With a cookie it is kept off where that can be, and never throttled. */
START_TEST(kept_off_with_a_cookie)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    hpcb_error_t err;

    if (!two_cpus())
        return;
    target = v1_guest("0-1");
    fake_core_fail(0);
    v1_primary("step_0", "0");
    bind_to(target.pid, "0");
    lower(&target, &all, &task, HPCB_SIBLINGS_AVOID);
    ck_assert(task.plan.cookie);
    ck_assert_str_eq(fake_read(V1_SET), "0");
    ck_assert_str_eq(hpcb_siblings_state(&target, &err), "core-cookie");
    v1_primary("step_0", "0-1");
    lower(&target, &all, &task, HPCB_SIBLINGS_COOKIE);
    ck_assert_str_eq(fake_read(V1_SET), "0-1");
    ck_assert_str_eq(fake_read(V1_QUOTA), "-1");
    end();
}
END_TEST

/* A directory in its place: nothing can be written to it, by root either. */
static void block_log(void)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/jobs/%d.undo", state, JOB);
    ck_assert(unlink(path) == 0 || errno == ENOENT);
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

/* Every look at a guest has a handle of its own. */
static void reopen(hpcb_target_t *target, bool blocked)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/jobs/%d.undo", state, JOB);
    if (!blocked)
        ck_assert_int_eq(rmdir(path), 0);
    hpcb_undo_close(undo);
    ck_assert_int_eq(hpcb_undo_open(state, JOB, &undo, NULL), 0);
    target->undo = undo;
}

START_TEST(throttled_without_a_log)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    hpcb_error_t err;

    if (!two_cpus())
        return;
    target = v1_guest("1");
    block_log();
    lower(&target, &all, &task, HPCB_SIBLINGS_NOTHING);
    ck_assert_ptr_null(task.unlogged);
    v1_primary("step_0", "0");
    lower(&target, &all, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_ptr_nonnull(task.unlogged);
    ck_assert_str_eq(fake_read(V1_QUOTA), "1000");
    ck_assert_str_eq(hpcb_siblings_state(&target, &err), "sibling-throttle");
    /* Taken back without a log, and once more, and still no log. */
    put_pid(V1_STEPS "uid_7002/job_6/step_0", 999999);
    reopen(&target, true);
    lower(&target, &all, &task, HPCB_SIBLINGS_NOTHING);
    ck_assert_str_eq(fake_read(V1_QUOTA), "-1");
    v1_primary("step_0", "0");
    lower(&target, &all, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_str_eq(fake_read(V1_QUOTA), "1000");
    /* The log works again: it says what was there at first. */
    reopen(&target, false);
    lower(&target, &all, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_ptr_null(task.unlogged);
    ck_assert_str_eq(fake_read(V1_QUOTA), "1000");
    ck_assert_int_ge(hpcb_undo_replay(state, JOB, NULL), 1);
    ck_assert_str_eq(fake_read(V1_QUOTA), "-1");
    end();
}
END_TEST

START_TEST(kept_off_without_a_log)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;

    if (!two_cpus())
        return;
    target = v1_guest("0-1");
    v1_primary("step_0", "0");
    bind_to(target.pid, "0");
    block_log();
    lower(&target, &all, &task, HPCB_SIBLINGS_AVOID);
    ck_assert_ptr_nonnull(task.unlogged);
    ck_assert_str_eq(fake_read(V1_SET), "0");
    /* No thread is left, then one again. */
    v1_primary("step_0", "0-1");
    reopen(&target, true);
    lower(&target, &all, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_str_eq(fake_read(V1_SET), "0-1");
    ck_assert_str_eq(fake_read(V1_QUOTA), "2000");
    v1_primary("step_0", "0");
    lower(&target, &all, &task, HPCB_SIBLINGS_AVOID);
    ck_assert_str_eq(fake_read(V1_QUOTA), "-1");
    reopen(&target, false);
    lower(&target, &all, &task, HPCB_SIBLINGS_AVOID);
    ck_assert_ptr_null(task.unlogged);
    ck_assert_str_eq(fake_read(V1_SET), "0");
    ck_assert_int_ge(hpcb_undo_replay(state, JOB, NULL), 1);
    ck_assert_str_eq(fake_read(V1_SET), "0-1");
    end();
}
END_TEST

/* There is not even a handle (no directory); a cookie comes without a log, too. */
START_TEST(lowered_where_no_log_can_be_opened)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    hpcb_error_t err;

    if (!two_cpus())
        return;
    target = v1_guest("1");
    v1_primary("step_0", "0");
    target.undo = NULL;
    lower(&target, &all, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_ptr_nonnull(task.unlogged);
    ck_assert_str_eq(fake_read(V1_QUOTA), "1000");
    hpcb_siblings_forget(&task);
    end();
    memset(&task, 0, sizeof(task));
    target = v1_guest("1");
    v1_primary("step_0", "0");
    fake_core_fail(0);
    block_log();
    lower(&target, &all, &task, HPCB_SIBLINGS_COOKIE);
    ck_assert_str_eq(hpcb_siblings_state(&target, &err), "core-cookie");
    ck_assert_str_eq(fake_read(V1_QUOTA), "-1");
    hpcb_siblings_forget(&task);
    end();
}
END_TEST

/* Not at full speed because the new quota cannot be written. */
START_TEST(what_was_in_force_stays_if_nothing_else_can_be_done)
{
    hpcb_siblings_want_t want = {.throttle = true, .difference = 5};
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    hpcb_error_t err;

    if (!two_cpus())
        return;
    target = v1_guest("0-1");
    v1_primary("step_0", "0-1");
    lower(&target, &want, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_str_eq(fake_read(V1_QUOTA), "2000");
    want.difference = 4;
    fake_fail("/cpu.cfs_quota_us", EROFS);
    ck_assert_int_eq(hpcb_siblings_lower(&target, &want, &task, &err), -1);
    fake_fail("", 0);
    ck_assert_str_eq(fake_read(V1_QUOTA), "2000");
    ck_assert_int_eq(task.plan.how, HPCB_SIBLINGS_THROTTLE);
    put_pid(V1_STEPS "uid_7002/job_6/step_0", 999999);
    lower(&target, &want, &task, HPCB_SIBLINGS_NOTHING);
    ck_assert_str_eq(fake_read(V1_QUOTA), "-1");
    end();
}
END_TEST

/* The group would not take it, or the task ignores it: undone, and the next one. */
START_TEST(what_fails_is_undone)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    hpcb_error_t err;

    if (!two_cpus())
        return;
    target = v1_guest("0-1");
    v1_primary("step_0", "0");
    lower(&target, &all, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_str_eq(fake_read(V1_SET), "0-1");
    end();
    target = v1_guest("1");
    v1_primary("step_0", "0");
    fake_fail("/cpu.cfs_quota_us", EROFS);
    memset(&task, 0, sizeof(task));
    /* Its first thread of the core is exposed as well, but that is all it has. */
    lower(&target, &all, &task, HPCB_SIBLINGS_AVOID);
    end();
    target = v1_guest("1");
    v1_primary("step_0", "0");
    fake_fail("/cpu.cfs_quota_us", EROFS);
    memset(&task, 0, sizeof(task));
    ck_assert_int_eq(
        hpcb_siblings_lower(
            &target,
            &(hpcb_siblings_want_t){.cookie = true, .throttle = true, .difference = 5},
            &task, &err),
        -1);
    ck_assert_ptr_nonnull(strstr(err.text, "core-cookie: "));
    ck_assert_ptr_nonnull(strstr(err.text, "sibling-throttle: "));
    ck_assert_int_eq(task.plan.how, HPCB_SIBLINGS_HELPLESS);
    ck_assert_int_eq(
        hpcb_siblings_lower(&target, &(hpcb_siblings_want_t){0}, &task, &err), -1);
    end();
}
END_TEST

static const struct {
    const char *step; /* of job 6, with a process on CPU 0 */
    const char *also; /* a second one, on both */
    const char *guests;
    const char *held;
} holders[] = {
    {"step_0", NULL, NULL, "0"},
    {"step_0/task_3", NULL, NULL, "0"},
    {"step_batch", NULL, NULL, "0"},
    {"step_interactive", NULL, NULL, "0"},
    {"step_extern", NULL, NULL, ""},
    /* A shell waits for its steps. */
    {"step_1", "step_batch", NULL, "0"},
    {"step_1", "step_extern", NULL, "0"},
    {"step_1", "step_2", NULL, "0-1"},
    /* slurmstepd's place */
    {".", NULL, NULL, ""},
    /* another guest */
    {"step_0", NULL, CPU GUESTS "/job_6/cgroup.procs", ""},
};

START_TEST(who_holds_what)
{
    hpcb_cpus_t held;
    hpcb_target_t target;
    char list[64];

    if (!two_cpus())
        return;
    target = v1_guest("0-1");
    v1_primary(holders[_i].step, "0");
    if (holders[_i].also)
        v1_primary(holders[_i].also, "0-1");
    if (holders[_i].guests)
        put(holders[_i].guests, "");
    ck_assert_int_eq(hpcb_held_cpus(&target, &held, NULL), 0);
    ck_assert_int_eq(hpcb_cpus_list(&held, list, sizeof(list)), 0);
    ck_assert_str_eq(list, holders[_i].held);
    end();
}
END_TEST

/* Where Slurm keeps no cgroups of processes, a primary may be anywhere. */
START_TEST(unknown_places_are_held)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    char path[64];

    if (!two_cpus())
        return;
    target = v1_guest("0-1");
    snprintf(path, sizeof(path), "proc/%d/cgroup", (int)target.pid);
    put(path, "1:cpu:/" GUESTS "/job_5\n");
    lower(&target, &all, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_str_eq(fake_read(V1_QUOTA), "2000");
    end();
}
END_TEST

static hpcb_target_t v2_guest(void)
{
    hpcb_target_t target;
    hpcb_error_t err;

    begin("v2-slurm22");
    fake_core_fail(EINVAL);
    put(SCOPE "job_4/cpu.max", "max 100000\n");
    put(SCOPE "job_4/step_0/cpu.max", "max 100000\n");
    put(V2_TASK "cgroup.procs", "");
    put(V2_TASK "cpu.max", "max 100000\n");
    put(V2_TASK "cpuset.cpus", "\n");
    put(V2_TASK "cpuset.cpus.effective", "0-1\n");
    target = guest(fake_task(100));
    ck_assert_msg(hpcb_isolate(&target, &err) != NULL, "%s", err.text);
    return target;
}

static void v2_primary(const char *cpus)
{
    pid_t pid = fake_task(100);

    ck_assert(bind_to(pid, cpus));
    put(SCOPE "job_6/cpu.idle", "0\n");
    put_pid(SCOPE "job_6/step_0/user/task_0", pid);
    put_pid(SCOPE "job_6/step_0/slurm", 1);
}

START_TEST(v2_throttles_the_task_not_slurmstepd)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    hpcb_error_t err;

    if (!two_cpus())
        return;
    target = v2_guest();
    v2_primary("0-1");
    /* It is bound to one of the two. */
    bind_to(target.pid, "1");
    lower(&target, &all, &task, HPCB_SIBLINGS_THROTTLE);
    ck_assert_str_eq(fake_read(V2_TASK "cpu.max"), "1000 100000");
    ck_assert_str_eq(fake_read(SCOPE "job_4/cpu.max"), "max 100000");
    ck_assert_str_eq(fake_read(SCOPE "job_4/step_0/cpu.max"), "max 100000");
    ck_assert_str_eq(hpcb_siblings_state(&target, &err), "sibling-throttle");
    /* Lowered as a guest: no primary. */
    put(SCOPE "job_6/cpu.idle", "1\n");
    lower(&target, &all, &task, HPCB_SIBLINGS_NOTHING);
    ck_assert_str_eq(fake_read(V2_TASK "cpu.max"), "max 100000");
    end();
}
END_TEST

START_TEST(v2_keeps_off)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;

    if (!two_cpus())
        return;
    target = v2_guest();
    v2_primary("0");
    bind_to(target.pid, "0");
    lower(&target, &all, &task, HPCB_SIBLINGS_AVOID);
    ck_assert_str_eq(fake_read(V2_TASK "cpuset.cpus"), "0");
    ck_assert_int_ge(hpcb_undo_replay(state, JOB, NULL), 1);
    /* Not empty, as it was: the kernel would refuse that. */
    ck_assert_str_eq(fake_read(V2_TASK "cpuset.cpus"), "0-1");
    end();
}
END_TEST

START_TEST(v2_without_a_group_of_its_own)
{
    hpcb_siblings_task_t task = {0};
    hpcb_target_t target;
    hpcb_error_t err;
    char command[PATH_MAX];

    if (!two_cpus())
        return;
    target = v2_guest();
    v2_primary("0-1");
    snprintf(command, sizeof(command), "rm '%s/" V2_TASK "cpu.max'", root);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(
        hpcb_siblings_lower(&target,
                            &(hpcb_siblings_want_t){.throttle = true, .difference = 5},
                            &task, &err),
        -1);
    ck_assert_ptr_nonnull(strstr(err.text, "without slurmstepd"));
    end();
}
END_TEST

START_TEST(punished)
{
    hpcb_target_t target;
    hpcb_error_t err;

    if (!two_cpus())
        return;
    target = v1_guest("0-1");
    ck_assert_int_eq(hpcb_siblings_punish(&target, &all, &err), 0);
    ck_assert_str_eq(fake_read(V1_QUOTA), "1000");
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("siblings");
    TCase *tcase = tcase_create("siblings");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, topology);
    tcase_add_test(tcase, nothing_without_smt);
    tcase_add_test(tcase, one_cookie_a_job);
    tcase_add_test(tcase, not_the_cookie_that_primaries_have);
    tcase_add_test(tcase, a_carrier_that_changes_is_not_followed);
    tcase_add_test(tcase, lost_cookies_come_back);
    tcase_add_test(tcase, nobody_hides_behind_many);
    tcase_add_test(tcase, throttled_beside_a_primary);
    tcase_add_loop_test(tcase, throttled_by_the_table, 0, 6);
    tcase_add_test(tcase, kept_on_the_primarys_own_thread);
    tcase_add_test(tcase, kept_off_with_a_cookie);
    tcase_add_test(tcase, throttled_without_a_log);
    tcase_add_test(tcase, kept_off_without_a_log);
    tcase_add_test(tcase, lowered_where_no_log_can_be_opened);
    tcase_add_test(tcase, what_was_in_force_stays_if_nothing_else_can_be_done);
    tcase_add_test(tcase, what_fails_is_undone);
    tcase_add_loop_test(tcase, who_holds_what, 0,
                        (int)(sizeof(holders) / sizeof(holders[0])));
    tcase_add_test(tcase, unknown_places_are_held);
    tcase_add_test(tcase, v2_throttles_the_task_not_slurmstepd);
    tcase_add_test(tcase, v2_keeps_off);
    tcase_add_test(tcase, v2_without_a_group_of_its_own);
    tcase_add_test(tcase, punished);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
