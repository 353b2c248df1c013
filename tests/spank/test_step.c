/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Whom a step takes for a guest.  The node of these tests has no cpu cgroup and no
 * autogroup, so that a guest is a task under SCHED_IDLE, or with nice 19 where root
 * lacks CAP_SYS_RESOURCE (containers): each task reports what it is.
 */
#include "config.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>
#include "common/class.h"
#include "tests/spank/tests.h"

#define JOB     9
#define GUEST   "policy 5 "
#define PRIMARY "policy 0 nice 0\n"

static void report(void)
{
    dprintf(STDOUT_FILENO, "policy %d nice %d\n", sched_getscheduler(0),
            getpriority(PRIO_PROCESS, 0));
}

static const char *run(uint32_t step_id, const char *const *env,
                       const host_option_t *options)
{
    static host_step_t step;

    step = (host_step_t){.job_id = JOB,
                         .step_id = step_id,
                         .uid = test_user(),
                         .env = env,
                         .options = options,
                         .program = report};
    host_step(&step);
    ck_assert_int_eq(step.status[0], 0);
    ck_assert_str_eq(step.err, "");
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_lt(host_longest_us(), TEST_PATIENCE_US);
    return step.out;
}

static void is_guest(const char *line)
{
    bool idle = strncmp(line, "policy 5 ", strlen("policy 5 ")) == 0;

    ck_assert_msg(idle || strcmp(line, "policy 0 nice 19\n") == 0, "%s", line);
}

START_TEST(guest_in_every_step)
{
    static const uint32_t steps[] = {0, 17, SLURM_BATCH_SCRIPT, SLURM_INTERACTIVE_STEP};

    test_load("", false);
    test_record(JOB, "guest", "none", false);
    is_guest(run(steps[_i], NULL, NULL));
    ck_assert_int_eq(host_log_count("error:"), 0);
}
END_TEST

/* Whatever a user can put into the environment or the options of a step. */
START_TEST(hostile_guest)
{
    static const char *const forged[] = {
        "SLURM_JOB_PARTITION=primary",
        "SLURM_JOB_ID=1",
        "SLURM_JOB_UID=0",
        "HPCB_CLASS=primary",
        "SPANK_HPCB_CLASS=primary",
        "SLURM_SPANK_HPCB_CLASS=primary",
        "_SLURM_SPANK_OPTION_x=y",
        NULL,
    };
    static const char *const empty[] = {NULL};
    static const host_option_t options[] = {
        {"hpc-balance", "auto"}, {"bw-profile", "\xff"}, {NULL, NULL}};

    test_load("", false);
    test_record(JOB, "guest", "none", false);
    setenv("SPANK_HPCB_CLASS", "primary", 1);
    setenv("SLURM_JOB_PARTITION", "primary", 1);
    is_guest(run(0, _i % 2 ? forged : empty, _i / 2 ? options : NULL));
}
END_TEST

START_TEST(primary_stays_untouched)
{
    static const char *const env[] = {"SLURM_JOB_PARTITION=guest", NULL};
    static const host_option_t options[] = {{"guest", NULL}, {NULL, NULL}};

    test_load("", false);
    test_record(JOB, "primary", "none", false);
    ck_assert_str_eq(run(0, env, _i ? options : NULL), PRIMARY);
    ck_assert_int_eq(host_log_count("user: hpc_balance: --guest has no effect: job 9 "),
                     _i);
    ck_assert_int_eq(host_log_count("error:") + host_log_count("info:"), 0);
}
END_TEST

/* Without a usable record hints lower, and nothing else does. */
START_TEST(hints)
{
    static const char *const guest[] = {"SLURM_JOB_PARTITION=night", NULL};
    static const char *const other[] = {"SLURM_JOB_PARTITION=guest", NULL};
    static const char *const odd[] = {
        "SLURM_JOB_PARTITION=nightnightnightnightnightnightnightnightnightnightnight",
        NULL};
    static const host_option_t option[] = {{"guest", ""}, {NULL, NULL}};
    static const struct {
        const char *const *env;
        const host_option_t *options;
        bool guest;
    } rows[] = {
        {NULL, NULL, false},   {guest, NULL, true},  {other, NULL, false},
        {other, option, true}, {NULL, option, true}, {odd, NULL, false},
    };
    const char *line;

    test_load("GuestPartition=night\n", false);
    line = run(0, rows[_i].env, rows[_i].options);
    if (rows[_i].guest)
        is_guest(line);
    else
        ck_assert_str_eq(line, PRIMARY);
    ck_assert_int_eq(
        host_log_count("info: hpc_balance: job 9 has no usable record of its class"),
        1);
}
END_TEST

/* What root's prolog has left in the kernel counts before what the step says; where the
 * cgroups of this node are files, nothing isolates, and no task of a guest starts. */
START_TEST(marked)
{
    static const char *const forged[] = {"SLURM_JOB_PARTITION=primary", NULL};
    static const struct {
        const char *mount;
        const char *file;
        bool guest;
    } rows[] = {
        {"cgroup cgroup rw,cpu", "hpcb_guest/guest_9/cgroup.procs", true},
        {"cgroup cgroup rw,cpu", "hpcb_guest/job_9/cgroup.procs", true},
        {"cgroup cgroup rw,cpu", "hpcb_guest/guest_99/cgroup.procs", false},
        {"cgroup2 cgroup2 rw", "hpcb_guest/guest_9/cgroup.procs", true},
        {"cgroup2 cgroup2 rw", "hpcb_guest/guest_8/cgroup.procs", false},
    };
    host_step_t step = {
        .job_id = JOB, .uid = test_user(), .env = forged, .program = report};
    char name[64];

    test_load("", true);
    test_write("proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw - %s\n",
               rows[_i].mount);
    test_write("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
    test_write("sys/fs/cgroup/cgroup.procs", "%s", "");
    snprintf(name, sizeof(name), "sys/fs/cgroup/%s", rows[_i].file);
    test_write(name, "%s", "");
    host_step(&step);
    ck_assert_int_eq(host_failures(), 0);
    if (rows[_i].guest)
        ck_assert_msg(strstr(step.err, "guest not started") != NULL, "%s", step.err);
    else
        ck_assert_str_eq(step.out, PRIMARY);
}
END_TEST

static void damage(void)
{
    test_write("state/jobs/9", "%s", "Class=primary\n");
}

static void other_uid(void)
{
    test_record_of(test_user() + 1, JOB, "primary", "none", true);
}

static void other_owner(void)
{
    char path[1024];

    test_record(JOB, "primary", "none", true);
    snprintf(path, sizeof(path), "%s/state/jobs/9", test_dir());
    if (getuid() == 0)
        ck_assert_int_eq(chown(path, test_user(), test_user()), 0);
    else
        damage();
}

static void junk(void)
{
    test_write("state/jobs/9", "%c%c%s", 0, 255, "\n\n=\n");
}

/* A record that cannot be believed is none. */
START_TEST(record_not_usable)
{
    static void (*const damages[])(void) = {damage, other_uid, other_owner, junk};
    static const host_option_t options[] = {{"guest", NULL}, {NULL, NULL}};

    test_load("", false);
    damages[_i]();
    is_guest(run(0, NULL, options));
    ck_assert_int_eq(host_log_count("info: hpc_balance: job 9 has no usable record"),
                     1);
}
END_TEST

/* Defaults hold: /run/hpc-balance must then not be the host's. */
static bool private_run(void)
{
    return getuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/run", "tmpfs", 0, NULL) == 0;
}

START_TEST(configuration_not_usable)
{
    static const char *const texts[] = {"NoSuchKey=1\n", "GuestOomScoreAdj=1e99\n",
                                        "\x01\x02\xff", "StateDir=relative\n"};
    static const char *const guest[] = {"SLURM_JOB_PARTITION=guest", NULL};
    static const char *const primary[] = {"SLURM_JOB_PARTITION=primary", NULL};
    char path[1024];

    if (!private_run())
        return;
    test_load("", false);
    snprintf(path, sizeof(path), "%s/hpc-balance.conf", test_dir());
    if (_i / 2 < 4)
        test_write("hpc-balance.conf", "%s", texts[_i / 2]);
    else
        unlink(path);
    if (_i % 2)
        is_guest(run(0, guest, NULL));
    else
        ck_assert_str_eq(run(0, primary, NULL), PRIMARY);
    ck_assert_int_eq(host_log_count("; using defaults\n"), 1);
    ck_assert_int_eq(host_log_count("error:"), 0);
}
END_TEST

/* The two questions of common/class.h, apart from any file. */
START_TEST(class_rules)
{
    hpcb_conf_t conf;

    hpcb_conf_defaults(&conf);
    strcpy(conf.guest_partition, "night");
    ck_assert_int_eq(hpcb_class_of_job(&conf, false, "day", "guest"), HPCB_CLASS_GUEST);
    ck_assert_int_eq(hpcb_class_of_job(&conf, false, "night", "primary"),
                     HPCB_CLASS_PRIMARY);
    ck_assert_int_eq(hpcb_class_of_job(&conf, false, "night", NULL), HPCB_CLASS_GUEST);
    ck_assert_int_eq(hpcb_class_of_job(&conf, false, "day", "Guest"),
                     HPCB_CLASS_UNKNOWN);
    ck_assert_int_eq(hpcb_class_of_job(&conf, false, NULL, NULL), HPCB_CLASS_UNKNOWN);
    ck_assert_int_eq(hpcb_class_of_hints(&conf, false, "day"), HPCB_CLASS_UNKNOWN);
}
END_TEST

/* Between a change of the file and slurmctld's reading it: a guest stays one, either
 * way, and no label makes a primary of one. */
START_TEST(class_while_files_differ)
{
    hpcb_conf_t conf;

    hpcb_conf_defaults(&conf);
    strcpy(conf.guest_partition, "night");
    ck_assert_int_eq(hpcb_class_of_job(&conf, true, "old", "guest@old"),
                     HPCB_CLASS_GUEST);
    ck_assert_int_eq(hpcb_class_of_job(&conf, true, "night", "primary"),
                     HPCB_CLASS_GUEST);
    /* Moved by an operator. */
    ck_assert_int_eq(hpcb_class_of_job(&conf, true, "day", "guest@old"),
                     HPCB_CLASS_PRIMARY);
    ck_assert_int_eq(hpcb_class_of_job(&conf, true, "night", "guest@old"),
                     HPCB_CLASS_GUEST);
    ck_assert_int_eq(hpcb_class_of_job(&conf, true, "day", "guest@"),
                     HPCB_CLASS_PRIMARY);
    ck_assert_int_eq(hpcb_class_of_job(&conf, false, "day", "guest@day"),
                     HPCB_CLASS_GUEST);
    ck_assert_int_eq(hpcb_class_of_job(&conf, false, NULL, "guest@day"),
                     HPCB_CLASS_GUEST);
}
END_TEST

TCase *step_tests(void)
{
    TCase *tc = tcase_create("step");

    tcase_add_checked_fixture(tc, test_setup, test_teardown);
    tcase_add_loop_test(tc, guest_in_every_step, 0, 4);
    tcase_add_loop_test(tc, hostile_guest, 0, 4);
    tcase_add_loop_test(tc, primary_stays_untouched, 0, 2);
    tcase_add_loop_test(tc, hints, 0, 6);
    tcase_add_loop_test(tc, marked, 0, 5);
    tcase_add_loop_test(tc, record_not_usable, 0, 4);
    tcase_add_loop_test(tc, configuration_not_usable, 0, 10);
    tcase_add_test(tc, class_rules);
    tcase_add_test(tc, class_while_files_differ);
    return tc;
}
