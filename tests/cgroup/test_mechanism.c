/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The mechanism table on copies of snapshots that answer as the kernel does
 * (fake_kernel.h); tasks are real children of the test, because policies, priorities
 * and limits cannot be faked.  Overview: what a guest gets in each layout, what verify
 * must not believe, the other rows, then what happens meanwhile (removals, crashes).
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
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/mechanism.h"
#include "cgroup/task.h"
#include "common/log.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/cgroup/real_kernel.h"

#define GUESTS    "hpcb_guest"
#define CPU       "sys/fs/cgroup/cpu/"
#define V2_JOB    "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4/"
#define AUTOGROUP "proc/sys/kernel/sched_autogroup_enabled"
#define JOB       5

static const char *root;
static hpcb_node_t *node;
static hpcb_undo_t *undo;
static char state[128];

static void no_log(hpcb_log_level_t level, const char *line)
{
    (void)level;
    (void)line;
}

static void reopen(void)
{
    hpcb_error_t err;

    hpcb_node_close(node);
    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
}

static void begin(const char *snapshot)
{
    hpcb_log_set_sink(no_log);
    root = fake_start(snapshot);
    node = NULL;
    reopen();
    snprintf(state, sizeof(state), "%s/state", root);
    ck_assert_int_eq(hpcb_undo_open(state, JOB, &undo, NULL), 0);
}

static void end(void)
{
    hpcb_undo_close(undo);
    hpcb_node_close(node);
    fake_stop();
}

static hpcb_target_t guest(pid_t pid)
{
    return (hpcb_target_t){
        .node = node, .pid = pid, .job_id = JOB, .guest_cgroup = GUESTS, .undo = undo};
}

static void expect(const hpcb_target_t *target, const char *name)
{
    hpcb_error_t err = {""};
    const hpcb_mechanism_t *row = hpcb_isolate(target, &err);

    ck_assert_msg(row || !name, "%s", err.text);
    ck_assert_str_eq(row ? row->name : "none", name ? name : "none");
    row = hpcb_isolated(target, &err);
    ck_assert_str_eq(row ? row->name : "none", name ? name : "none");
}

static bool in_group(pid_t pid, const char *group)
{
    char path[64], line[128];

    snprintf(path, sizeof(path), "proc/%d/cgroup", (int)pid);
    snprintf(line, sizeof(line), "cpu:%s\n", group);
    return strstr(fake_read(path), line) != NULL;
}

/*
 * RLIMIT_RTPRIO of every task, as PAM or the unit of slurmd may have set it.  Only a
 * root with CAP_SYS_RESOURCE could raise it in earnest.
 */
static struct {
    bool on, fixed;
    char text[32];
} limit;

int __wrap_prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *set,
                   struct rlimit *was);
int __real_prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *set,
                   struct rlimit *was);

int __wrap_prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *set,
                   struct rlimit *was)
{
    if (!limit.on || resource != RLIMIT_RTPRIO || !set)
        return __real_prlimit(pid, resource, set, was);
    if (limit.fixed) {
        errno = EPERM;
        return -1;
    }
    snprintf(limit.text, sizeof(limit.text), "%lu %lu", (unsigned long)set->rlim_cur,
             (unsigned long)set->rlim_max);
    return 0;
}

ssize_t __wrap_hpcb_file_read(const char *path, char *buf, size_t size,
                              hpcb_error_t *err);
ssize_t __real_hpcb_file_read(const char *path, char *buf, size_t size,
                              hpcb_error_t *err);

ssize_t __wrap_hpcb_file_read(const char *path, char *buf, size_t size,
                              hpcb_error_t *err)
{
    const char *name = strrchr(path, '/');

    if (!limit.on || !name || strcmp(name, "/limits") != 0)
        return __real_hpcb_file_read(path, buf, size, err);
    return snprintf(buf, size,
                    "Max nice priority         0                    0\n"
                    "Max realtime priority     %s\n",
                    limit.text);
}

static void allow_realtime(bool fixed)
{
    limit.on = true;
    limit.fixed = fixed;
    snprintf(limit.text, sizeof(limit.text), "20 50");
}

START_TEST(no_way_to_a_realtime_policy)
{
    hpcb_target_t target;

    begin("v1-hybrid");
    target = guest(fake_task(100));
    allow_realtime(false);
    ck_assert_ptr_null(hpcb_isolated(&target, NULL));
    expect(&target, "idle-group");
    ck_assert_str_eq(limit.text, "0 0");
    /* The hard limit is a way up too. */
    snprintf(limit.text, sizeof(limit.text), "0 1");
    ck_assert_ptr_null(hpcb_isolated(&target, NULL));
    snprintf(limit.text, sizeof(limit.text), "0 0");
    ck_assert_ptr_nonnull(hpcb_isolated(&target, NULL));
    ck_assert_int_eq(hpcb_undo_revert(undo, "realtime-limit", target.pid, NULL), 0);
    ck_assert_str_eq(limit.text, "20 50");
    limit.on = false;
    end();
}
END_TEST

/* In an idle group, and yet no guest. */
START_TEST(a_limit_that_stays_is_no_isolation)
{
    hpcb_target_t target;
    hpcb_error_t err = {""};

    begin("v1-hybrid");
    target = guest(fake_task(100));
    allow_realtime(true);
    ck_assert_ptr_nonnull(hpcb_isolate(&target, &err));
    ck_assert_ptr_null(hpcb_isolated(&target, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "realtime-limit: RLIMIT_RTPRIO of task"));
    limit.on = false;
    end();
}
END_TEST

/* slurmd may have been started with chrt. */
START_TEST(inherited_realtime_policy_ends)
{
    const struct sched_param lowest = {.sched_priority = 1};
    hpcb_target_t target;

    begin("v1-hybrid");
    target = guest(fake_task(100));
    expect(&target, "idle-group");
    if (sched_setscheduler(target.pid, SCHED_FIFO, &lowest) == 0) {
        ck_assert_ptr_null(hpcb_isolated(&target, NULL));
        expect(&target, "idle-group");
        ck_assert_int_eq(sched_getscheduler(target.pid), SCHED_OTHER);
    }
    end();
}
END_TEST

START_TEST(v1_guests_go_to_the_idle_group)
{
    hpcb_target_t target;

    begin("v1-hybrid");
    target = guest(fake_task(100));
    expect(&target, "idle-group");
    ck_assert_str_eq(fake_read(CPU GUESTS "/cpu.idle"), "1");
    ck_assert_str_eq(fake_read(CPU GUESTS "/job_5/cpu.idle"), "0");
    ck_assert_str_eq(fake_read(CPU "cpu.idle"), "0");
    ck_assert(in_group(target.pid, "/" GUESTS "/job_5"));
    /* A second time changes nothing. */
    expect(&target, "idle-group");
    ck_assert_int_eq(hpcb_isolate_cleanup(node, GUESTS, JOB, NULL), -1);
    ck_assert_int_eq(errno, EBUSY);
    ck_assert_int_eq(hpcb_undo_revert(undo, "idle-group", target.pid, NULL), 0);
    ck_assert(in_group(target.pid, "/"));
    ck_assert_int_eq(hpcb_isolate_cleanup(node, GUESTS, JOB, NULL), 0);
    ck_assert_int_eq(hpcb_isolate_cleanup(node, GUESTS, JOB, NULL), 0);
    ck_assert_str_eq(fake_read(CPU GUESTS "/cpu.idle"), "(none)");
    end();
}
END_TEST

START_TEST(one_guest_ends_the_other_stays_idle)
{
    hpcb_target_t one, two;

    begin("v1-hybrid");
    one = guest(fake_task(100));
    two = guest(fake_task(100));
    two.job_id = 6;
    ck_assert_int_eq(hpcb_undo_open(state, 6, &two.undo, NULL), 0);
    expect(&one, "idle-group");
    expect(&two, "idle-group");
    ck_assert_int_ge(hpcb_undo_replay(state, JOB, NULL), 1);
    ck_assert(in_group(one.pid, "/"));
    ck_assert_int_eq(hpcb_isolate_cleanup(node, GUESTS, JOB, NULL), 0);
    ck_assert_ptr_nonnull(hpcb_isolated(&two, NULL));
    ck_assert_str_eq(fake_read(CPU GUESTS "/cpu.idle"), "1");
    hpcb_undo_close(two.undo);
    end();
}
END_TEST

START_TEST(v2_lowers_the_job)
{
    hpcb_target_t target;

    begin("v2-slurm22");
    fake_write(V2_JOB "cpu.weight", "250\n");
    target = guest(fake_task(100));
    expect(&target, "idle-group");
    ck_assert_str_eq(fake_read(V2_JOB "cpu.idle"), "1");
    ck_assert_str_eq(fake_read(V2_JOB "../cpu.idle"), "0");
    ck_assert_str_eq(fake_read(V2_JOB "../../cpu.idle"), "0");
    ck_assert_int_eq(hpcb_isolate_cleanup(node, GUESTS, JOB, NULL), 0);
    /* cpu.idle=0 first, the job's own weight after it. */
    ck_assert_int_ge(hpcb_undo_replay(state, JOB, NULL), 2);
    ck_assert_str_eq(fake_read(V2_JOB "cpu.idle"), "0");
    ck_assert_str_eq(fake_read(V2_JOB "cpu.weight"), "250");
    ck_assert_ptr_null(hpcb_isolated(&target, NULL));
    end();
}
END_TEST

static const char *const v2_layouts[][2] = {
    {"v2-slurm22", V2_JOB "cpu.idle"},
    {"v2-node-scope",
     "sys/fs/cgroup/system.slice/spk1_slurmstepd.scope/job_3/cpu.idle"},
    {"v2-sluid",
     "sys/fs/cgroup/system.slice/spk1_slurmstepd.scope/s8B9M7Y1A9MR00/cpu.idle"},
    {"v2-bind", "sys/fs/cgroup/system.slice/slurmstepd.scope/job_21/cpu.idle"},
};

START_TEST(every_v2_layout)
{
    hpcb_target_t target;

    begin(v2_layouts[_i][0]);
    target = guest(fake_task(100));
    expect(&target, "idle-group");
    ck_assert_str_eq(fake_read(v2_layouts[_i][1]), "1");
    end();
}
END_TEST

START_TEST(without_cpu_idle_the_weight)
{
    hpcb_target_t target;

    begin("v1-comounted");
    target = guest(fake_task(100));
    expect(&target, "weight");
    ck_assert_str_eq(fake_read("sys/fs/cgroup/cpu,cpuacct/" GUESTS "/cpu.shares"), "2");
    end();
    begin("v2-slurm22");
    target = guest(fake_task(100));
    fake_fail("/cpu.idle", EACCES);
    expect(&target, "weight");
    ck_assert_str_eq(fake_read(V2_JOB "cpu.weight"), "1");
    ck_assert_str_eq(fake_read(V2_JOB "cpu.idle"), "0");
    fake_fail("", 0);
    ck_assert_int_ge(hpcb_undo_replay(state, JOB, NULL), 1);
    ck_assert_str_eq(fake_read(V2_JOB "cpu.weight"), "100");
    end();
}
END_TEST

/* cpu.idle was applied by someone else: weight must not be written then (EINVAL). */
START_TEST(weight_is_not_written_beside_idle)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("weight");
    hpcb_target_t target;
    hpcb_error_t err = {""};
    int before;

    begin("v2-slurm22");
    target = guest(fake_task(100));
    fake_write(V2_JOB "cpu.idle", "1\n");
    before = fake_changes();
    ck_assert_msg(row->apply(&target, &err) == 0, "%s", err.text);
    ck_assert_int_eq(row->verify(&target, &err), 0);
    ck_assert_int_eq(fake_changes(), before);
    end();
    begin("v1-hybrid");
    target = guest(fake_task(100));
    ck_assert_int_eq(hpcb_mechanism_find("idle-group")->apply(&target, &err), 0);
    ck_assert_msg(row->apply(&target, &err) == 0, "%s", err.text);
    ck_assert_str_eq(fake_read(CPU GUESTS "/cpu.shares"), "3");
    end();
}
END_TEST

START_TEST(what_does_not_verify_is_undone)
{
    hpcb_target_t target;
    hpcb_error_t err = {""};

    begin("v1-hybrid");
    target = guest(fake_task(100));
    fake_fail("/job_5/cgroup.procs", EPERM);
    ck_assert_ptr_null(hpcb_isolate(&target, &err));
    /* One reason each. */
    ck_assert_ptr_nonnull(strstr(err.text, "idle-group: "));
    ck_assert_ptr_nonnull(strstr(err.text, "weight: "));
    ck_assert_ptr_nonnull(strstr(err.text, "sched-idle: "));
    ck_assert_ptr_nonnull(strstr(err.text, "nice: "));
    ck_assert_ptr_nonnull(strstr(err.text, "autogroup"));
    ck_assert_str_eq(fake_read(CPU GUESTS "/cpu.idle"), "(none)");
    ck_assert(in_group(target.pid, "/"));
    end();
}
END_TEST

static int verifies(const hpcb_target_t *target, const char *name)
{
    return hpcb_mechanism_find(name)->verify(target, NULL) == 0;
}

START_TEST(idle_counts_only_at_the_top)
{
    hpcb_target_t target;
    char path[64];

    begin("v1-hybrid");
    target = guest(fake_task(100));
    expect(&target, "idle-group");
    snprintf(path, sizeof(path), "proc/%d/cgroup", (int)target.pid);
    fake_write(path, "1:cpu:/hpcb/" GUESTS "/job_5\n");
    ck_assert(!verifies(&target, "idle-group"));
    fake_write(path, "1:cpu:/" GUESTS "x/job_5\n");
    ck_assert(!verifies(&target, "idle-group"));
    fake_write(path, "1:cpu:/../" GUESTS "/job_5\n");
    ck_assert(!verifies(&target, "idle-group"));
    fake_write(path, "1:cpu:/" GUESTS "/job_5/deeper\n");
    ck_assert(verifies(&target, "idle-group"));
    fake_write(CPU GUESTS "/cpu.idle", "0\n");
    ck_assert(!verifies(&target, "idle-group"));
    end();
    begin("v2-slurm22");
    target = guest(fake_task(102));
    fake_write("sys/fs/cgroup/system.slice/slurmstepd.scope/cpu.idle", "1\n");
    ck_assert(!verifies(&target, "idle-group"));
    end();
}
END_TEST

/* SCHED_IDLE and nice act between tasks of one scheduling group only. */
START_TEST(policy_counts_only_beside_primaries)
{
    hpcb_target_t target;
    char path[64];

    if (geteuid() != 0)
        return;
    begin("v1-hybrid");
    target = guest(fake_task(100));
    fake_fail("/cgroup.procs", EROFS);
    expect(&target, NULL);
    fake_write(AUTOGROUP, "0\n");
    expect(&target, "sched-idle");
    fake_write(AUTOGROUP, "1\n");
    ck_assert(!verifies(&target, "sched-idle"));
    fake_write(AUTOGROUP, "0\n");
    ck_assert(verifies(&target, "sched-idle"));
    /* In a group of its own it competes as that group. */
    snprintf(path, sizeof(path), "proc/%d/cgroup", (int)target.pid);
    fake_write(path, "1:cpu:/other\n");
    ck_assert(!verifies(&target, "sched-idle"));
    end();
    begin("v1-namespaced");
    target = guest(fake_task(100));
    fake_fail("/cgroup.procs", EROFS);
    /* autogroup is on, but what shows as "/" here is a child of the root group. */
    expect(&target, "sched-idle");
    end();
    begin("no-cgroups");
    target = guest(fake_task(100));
    expect(&target, "sched-idle");
    end();
    begin("v2-slurm22");
    target = guest(fake_task(100));
    fake_fail("/cpu.idle", EROFS);
    fake_fail("/cpu.weight", EROFS);
    fake_write(AUTOGROUP, "0\n");
    ck_assert_int_eq(hpcb_mechanism_find("sched-idle")->apply(&target, NULL), 0);
    ck_assert(!verifies(&target, "sched-idle"));
    end();
    begin("v2-no-cpu");
    target = guest(fake_task(100));
    expect(&target, "sched-idle");
    end();
}
END_TEST

START_TEST(nice_is_the_last_resort)
{
    const hpcb_mechanism_t *nice_row = hpcb_mechanism_find("nice");
    hpcb_target_t target;
    char before[64], after[64];

    if (geteuid() != 0)
        return;
    begin("no-cgroups");
    target = guest(fake_task(100));
    ck_assert_int_eq(hpcb_task_get(target.pid, "nice", before, sizeof(before), NULL),
                     0);
    ck_assert_int_eq(nice_row->apply(&target, NULL), 0);
    ck_assert(verifies(&target, "nice"));
    /* A limit that lets the user raise it again is no isolation. */
    if (hpcb_task_set(target.pid, "rlimit-nice", "20 20", NULL) == 0)
        ck_assert(!verifies(&target, "nice"));
    else
        ck_assert_int_eq(errno, EPERM); /* root without CAP_SYS_RESOURCE */
    ck_assert_int_eq(nice_row->undo(nice_row, &target, NULL), 0);
    ck_assert_int_eq(hpcb_task_get(target.pid, "nice", after, sizeof(after), NULL), 0);
    ck_assert_str_eq(after, before);
    end();
}
END_TEST

START_TEST(sched_ext_is_not_trusted)
{
    char command[256];
    hpcb_target_t target;

    begin("v2-slurm22");
    snprintf(command, sizeof(command), "mkdir -p '%s/sys/kernel/sched_ext'", root);
    ck_assert_int_eq(system(command), 0);
    fake_write("sys/kernel/sched_ext/state", "enabled\n");
    target = guest(fake_task(100));
    expect(&target, NULL);
    fake_write("sys/kernel/sched_ext/state", "disabled\n");
    expect(&target, "idle-group");
    end();
}
END_TEST

static const char *const bad_names[] = {"", ".", "..", "a/b", "/", NULL};

START_TEST(refuses_odd_group_names)
{
    hpcb_target_t target;

    begin("v1-hybrid");
    target = guest(fake_task(100));
    target.guest_cgroup = bad_names[_i];
    expect(&target, NULL);
    ck_assert_int_eq(hpcb_isolate_cleanup(node, bad_names[_i], JOB, NULL), -1);
    ck_assert_int_eq(fake_changes(), 0);
    end();
}
END_TEST

START_TEST(others_come_with_it)
{
    hpcb_target_t target;
    char text[64];

    if (geteuid() != 0)
        return;
    begin("v2-slurm22");
    target = guest(fake_task(100));
    target.oom_score_adj = 500;
    target.memory_high = 90;
    expect(&target, "idle-group");
    ck_assert_int_eq(hpcb_task_get(target.pid, "ioprio", text, sizeof(text), NULL), 0);
    ck_assert_str_eq(text, "24576");
    ck_assert_int_eq(
        hpcb_task_get(target.pid, "oom_score_adj", text, sizeof(text), NULL), 0);
    ck_assert_str_eq(text, "500");
    ck_assert_str_eq(fake_read(V2_JOB "memory.high"), "966365184");
    ck_assert_str_eq(fake_read(V2_JOB "io.weight"), "default 1\n8:0 50");
    ck_assert_str_eq(fake_read(V2_JOB "step_0/user/cgroup.freeze"), "0");
    ck_assert_int_eq(hpcb_undo_replay(state, JOB, NULL), 6);
    ck_assert_str_eq(fake_read(V2_JOB "memory.high"), "max");
    ck_assert_str_eq(fake_read(V2_JOB "io.weight"), "default 100\n8:0 50");
    ck_assert_int_eq(
        hpcb_task_get(target.pid, "oom_score_adj", text, sizeof(text), NULL), 0);
    ck_assert_str_eq(text, "0");
    end();
}
END_TEST

START_TEST(memory_high_needs_a_limit)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("memory-high");
    hpcb_target_t target;

    begin("v1-comounted");
    target = guest(fake_task(100));
    target.memory_high = 90;
    ck_assert_int_eq(row->apply(&target, NULL), -1);
    ck_assert_int_eq(errno, ENODATA);
    end();
    begin("v1-hybrid");
    target = guest(fake_task(100));
    target.memory_high = 50;
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    ck_assert_int_eq(row->verify(&target, NULL), 0);
    ck_assert_str_eq(fake_read("sys/fs/cgroup/memory/slurm_scb1/uid_7001/job_5/"
                               "memory.soft_limit_in_bytes"),
                     "536870912");
    target.memory_high = 40;
    ck_assert_int_eq(row->verify(&target, NULL), -1);
    end();
}
END_TEST

static void make_group(const char *path)
{
    char dir[PATH_MAX];

    snprintf(dir, sizeof(dir), "%s/%s", root, path);
    ck_assert_int_eq(hpcb_knob_mkdir(dir, "", NULL), 0);
}

START_TEST(freezes_tasks_below_what_slurm_freezes)
{
    static const char *const user = V2_JOB "step_0/user/cgroup.freeze";
    static const char *const task = V2_JOB "step_0/user/task_0/cgroup.freeze";
    static const char *const login = V2_JOB "step_extern/user/task_special";
    const hpcb_mechanism_t *row = hpcb_mechanism_find("freeze");
    hpcb_target_t target;

    begin("v2-slurm22");
    target = guest(fake_task(100));
    ck_assert_int_eq(row->apply(&target, NULL), -1);
    ck_assert_int_eq(errno, ENOENT);
    make_group(V2_JOB "step_0/user/task_0");
    make_group(login);
    ck_assert_int_eq(row->verify(&target, NULL), -1);
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    ck_assert_int_eq(row->verify(&target, NULL), 0);
    ck_assert_str_eq(fake_read(task), "1");
    ck_assert_str_eq(fake_read(user), "0");
    ck_assert_str_eq(fake_read(V2_JOB "step_extern/user/task_special/cgroup.freeze"),
                     "0");
    /* scontrol suspend */
    fake_write(user, "1\n");
    ck_assert_int_eq(row->undo(row, &target, NULL), 0);
    ck_assert_str_eq(fake_read(task), "0");
    ck_assert_str_eq(fake_read(user), "1");
    target.undo = NULL;
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    ck_assert_str_eq(fake_read(task), "1");
    /* hpcbd stops logins, too. */
    fake_write(V2_JOB "step_extern/user/task_special/cgroup.freeze", "1\n");
    ck_assert_int_eq(row->undo(row, &target, NULL), 0);
    ck_assert_str_eq(fake_read(task), "0");
    ck_assert_str_eq(fake_read(V2_JOB "step_extern/user/task_special/cgroup.freeze"),
                     "0");
    ck_assert_str_eq(fake_read(user), "1");
    end();
}
END_TEST

START_TEST(freezes_on_v1_without_slurms_freezer)
{
    static const char *const step =
        "sys/fs/cgroup/freezer/slurm_scb1/uid_7001/job_5/step_0/freezer.state";
    static const char *const ours = "sys/fs/cgroup/unified/hpcb/job_5/cgroup.freeze";
    const hpcb_mechanism_t *row = hpcb_mechanism_find("freeze");
    hpcb_target_t target;

    begin("v1-hybrid");
    target = guest(fake_task(100));
    ck_assert_int_eq(row->apply(&target, NULL), -1);
    ck_assert_int_eq(errno, ENOENT);
    make_group("sys/fs/cgroup/unified/hpcb");
    make_group("sys/fs/cgroup/unified/hpcb/job_5");
    fake_write(step, "FROZEN\n");
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    ck_assert_int_eq(row->verify(&target, NULL), 0);
    ck_assert_str_eq(fake_read(ours), "1");
    ck_assert_int_eq(row->undo(row, &target, NULL), 0);
    ck_assert_str_eq(fake_read(ours), "0");
    ck_assert_str_eq(fake_read(step), "FROZEN");
    end();
}
END_TEST

START_TEST(sets_affinity_on_request)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("cpu-affinity");
    char before[HPCB_TASK_TEXT_MAX], now[HPCB_TASK_TEXT_MAX];
    hpcb_target_t target;

    begin("v1-hybrid");
    target = guest(fake_task(100));
    ck_assert(!row->every_guest);
    ck_assert(!hpcb_mechanism_find("freeze")->every_guest);
    ck_assert_int_eq(row->apply(&target, NULL), -1);
    ck_assert_int_eq(
        hpcb_task_get(target.pid, "affinity", before, sizeof(before), NULL), 0);
    target.affinity = "1";
    ck_assert_int_eq(row->apply(&target, NULL), 0);
    ck_assert_int_eq(row->verify(&target, NULL), 0);
    ck_assert_int_eq(row->undo(row, &target, NULL), 0);
    ck_assert_int_eq(hpcb_task_get(target.pid, "affinity", now, sizeof(now), NULL), 0);
    ck_assert_str_eq(now, before);
    end();
}
END_TEST

START_TEST(isolates_without_a_writable_log)
{
    hpcb_target_t target;
    char path[PATH_MAX];

    begin("v1-hybrid");
    target = guest(fake_task(100));
    snprintf(path, sizeof(path), "%s/jobs/%d.undo", state, JOB);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    expect(&target, "idle-group");
    end();
    begin("v1-hybrid");
    target = guest(fake_task(100));
    target.undo = NULL;
    expect(&target, "idle-group");
    target.pid = 0;
    expect(&target, NULL);
    end();
}
END_TEST

/* Another job's end removes the common group just before each of our changes. */
static int removals;

static void remove_common(const char *path)
{
    hpcb_error_t err;

    (void)path;
    if (removals-- > 0)
        hpcb_isolate_cleanup(node, GUESTS, JOB, &err);
}

START_TEST(survives_removal_meanwhile)
{
    hpcb_target_t target;

    begin("v1-hybrid");
    target = guest(fake_task(100));
    removals = _i;
    fake_interfere(remove_common);
    expect(&target, "idle-group");
    fake_interfere(NULL);
    end();
    begin("v1-hybrid");
    target = guest(fake_task(100));
    removals = 1000000;
    fake_interfere(remove_common);
    expect(&target, NULL);
    fake_interfere(NULL);
    end();
}
END_TEST

static const char *const crash_files[] = {
    V2_JOB "cpu.idle",
    V2_JOB "cpu.weight",
    V2_JOB "memory.high",
    V2_JOB "io.weight",
    CPU "cpu.idle",
    CPU "cpu.shares",
    CPU GUESTS "/cpu.idle",
    "sys/fs/cgroup/memory/slurm_scb1/uid_7001/job_5/memory.soft_limit_in_bytes",
};

#define CRASH_FILES (sizeof(crash_files) / sizeof(crash_files[0]))

static void look(pid_t pid, char seen[CRASH_FILES + 4][256])
{
    static const char *const attributes[] = {"policy", "ioprio", "oom_score_adj"};
    char path[64];

    for (size_t i = 0; i < CRASH_FILES; i++)
        snprintf(seen[i], 256, "%s", fake_read(crash_files[i]));
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(
            hpcb_task_get(pid, attributes[i], seen[CRASH_FILES + i], 256, NULL), 0);
    snprintf(path, sizeof(path), "proc/%d/cgroup", (int)pid);
    snprintf(seen[CRASH_FILES + 3], 256, "%.250s", fake_read(path));
}

/* kill -9 at the nth change; 0 when it ended before. */
static int crash_at(const hpcb_target_t *target, int nth)
{
    pid_t pid = real_fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        fake_crash_at(nth);
        hpcb_isolate(target, NULL);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status);
}

static void crash_everywhere(const char *snapshot)
{
    char before[CRASH_FILES + 4][256], after[CRASH_FILES + 4][256];
    int crashed = 1;

    for (int nth = 1; crashed; nth++) {
        hpcb_target_t target;
        hpcb_error_t err;

        begin(snapshot);
        target = guest(fake_task(100));
        target.oom_score_adj = 500;
        target.memory_high = 90;
        look(target.pid, before);
        crashed = crash_at(&target, nth);
        ck_assert_int_ge(hpcb_undo_replay(state, JOB, NULL), 0);
        ck_assert_msg(hpcb_isolate_cleanup(node, GUESTS, JOB, &err) == 0,
                      "%s: crash %d: %s", snapshot, nth, err.text);
        look(target.pid, after);
        for (size_t i = 0; i < CRASH_FILES + 4; i++)
            ck_assert_msg(strcmp(before[i], after[i]) == 0, "%s: crash %d: %s, was %s",
                          snapshot, nth, after[i], before[i]);
        end();
        ck_assert_int_lt(nth, 20);
    }
}

START_TEST(undone_after_a_crash_at_each_change)
{
    if (geteuid() != 0)
        return;
    crash_everywhere("v1-hybrid");
    crash_everywhere("v1-comounted");
    crash_everywhere("v2-slurm22");
}
END_TEST

/* ---- primary-weight ---- */

static void weigh(unsigned processors)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("primary-weight");
    hpcb_target_t target = guest(fake_task(100));
    hpcb_error_t err = {""};

    target.processors = processors;
    ck_assert_int_eq(row->probe(node, &err), 0);
    ck_assert_msg(row->apply(&target, &err) == 0, "%s", err.text);
}

static const struct {
    const char *cpuset; /* of the job */
    unsigned processors;
    const char *weight;
} widths[] = {
    {"", 0, "100"},       {"", 1, "100"},       {"", 4, "400"},
    {"0-15", 4, "1600"},  {"3,7\n", 64, "200"}, {"0-255", 1, "10000"},
    {"", 65535, "10000"}, {"junk", 2, "200"},
};

START_TEST(a_wide_primary_weighs_more)
{
    hpcb_target_t target;

    begin("v2-slurm22");
    fake_write(V2_JOB "cpuset.cpus", widths[_i].cpuset);
    weigh(widths[_i].processors);
    ck_assert_str_eq(fake_read(V2_JOB "cpu.weight"), widths[_i].weight);
    ck_assert_str_eq(fake_read(V2_JOB "../cpu.weight"), "100");
    target = guest(fake_task(100));
    target.processors = widths[_i].processors;
    ck_assert(verifies(&target, "primary-weight"));
    /* Another step of the job, of another width. */
    weigh(1);
    ck_assert_str_eq(fake_read(V2_JOB "cpu.weight"), widths[_i].weight);
    ck_assert_int_ge(hpcb_undo_replay(state, JOB, NULL), 0);
    ck_assert_str_eq(fake_read(V2_JOB "cpu.weight"), "100");
    end();
}
END_TEST

START_TEST(a_weight_of_the_admin_stays)
{
    hpcb_target_t target;
    int before;

    begin("v2-slurm22");
    fake_write(V2_JOB "cpu.weight", "250\n");
    before = fake_changes();
    weigh(16);
    ck_assert_int_eq(fake_changes(), before);
    ck_assert_str_eq(fake_read(V2_JOB "cpu.weight"), "250");
    target = guest(fake_task(100));
    target.processors = 16;
    ck_assert(!verifies(&target, "primary-weight"));
    end();
}
END_TEST

START_TEST(not_on_v1)
{
    const hpcb_mechanism_t *row = hpcb_mechanism_find("primary-weight");

    begin(_i ? "v1-hybrid" : "no-cgroups");
    ck_assert_int_lt(row->probe(node, NULL), 0);
    end();
}
END_TEST

START_TEST(the_table_is_in_order)
{
    size_t count;
    const hpcb_mechanism_t *rows = hpcb_mechanisms(&count);

    ck_assert_str_eq(rows[0].name, "idle-group");
    for (size_t i = 0; i < count; i++) {
        ck_assert(i == 0 || rows[i - 1].isolates || !rows[i].isolates);
        ck_assert_ptr_eq(hpcb_mechanism_find(rows[i].name), &rows[i]);
        ck_assert(rows[i].probe && rows[i].apply && rows[i].verify && rows[i].undo);
    }
    ck_assert_ptr_null(hpcb_mechanism_find("magic"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mechanism");
    TCase *tcase = tcase_create("mechanism");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, no_way_to_a_realtime_policy);
    tcase_add_test(tcase, a_limit_that_stays_is_no_isolation);
    tcase_add_test(tcase, inherited_realtime_policy_ends);
    tcase_add_test(tcase, v1_guests_go_to_the_idle_group);
    tcase_add_test(tcase, one_guest_ends_the_other_stays_idle);
    tcase_add_test(tcase, v2_lowers_the_job);
    tcase_add_loop_test(tcase, every_v2_layout, 0, 4);
    tcase_add_test(tcase, without_cpu_idle_the_weight);
    tcase_add_test(tcase, weight_is_not_written_beside_idle);
    tcase_add_test(tcase, what_does_not_verify_is_undone);
    tcase_add_test(tcase, idle_counts_only_at_the_top);
    tcase_add_test(tcase, policy_counts_only_beside_primaries);
    tcase_add_test(tcase, nice_is_the_last_resort);
    tcase_add_test(tcase, sched_ext_is_not_trusted);
    tcase_add_loop_test(tcase, refuses_odd_group_names, 0, 6);
    tcase_add_test(tcase, others_come_with_it);
    tcase_add_test(tcase, memory_high_needs_a_limit);
    tcase_add_test(tcase, freezes_tasks_below_what_slurm_freezes);
    tcase_add_test(tcase, freezes_on_v1_without_slurms_freezer);
    tcase_add_test(tcase, sets_affinity_on_request);
    tcase_add_test(tcase, isolates_without_a_writable_log);
    tcase_add_loop_test(tcase, survives_removal_meanwhile, 1, 6);
    tcase_add_test(tcase, undone_after_a_crash_at_each_change);
    tcase_add_loop_test(tcase, a_wide_primary_weighs_more, 0,
                        sizeof(widths) / sizeof(widths[0]));
    tcase_add_test(tcase, a_weight_of_the_admin_stays);
    tcase_add_loop_test(tcase, not_on_v1, 0, 2);
    tcase_add_test(tcase, the_table_is_in_order);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
