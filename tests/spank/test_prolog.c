/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What root records of a job, and what it is taken from. */
#include "config.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/state.h"
#include "tests/spank/tests.h"

#define OPTION "SPANK__SLURM_SPANK_OPTION_hpc_balance_"

static const char *state_dir(void)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/state", test_dir());
    return path;
}

static hpcb_job_state_t recorded(uint32_t job_id)
{
    hpcb_job_state_t job;
    hpcb_error_t err;

    if (hpcb_state_load(state_dir(), job_id, &job, &err) < 0)
        ck_abort_msg("%s\n%s", err.text, host_log());
    return job;
}

static void set_env(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* With a configuration the partition decides, whatever else is said. */
START_TEST(class_from_partition)
{
    static const struct {
        const char *partition;
        const char *label;
        hpcb_class_t klass;
    } rows[] = {
        {"night", NULL, HPCB_CLASS_GUEST},   {"night", "primary", HPCB_CLASS_GUEST},
        {"day", NULL, HPCB_CLASS_PRIMARY},   {"day", "guest", HPCB_CLASS_PRIMARY},
        {"guest", NULL, HPCB_CLASS_PRIMARY}, {"Night", NULL, HPCB_CLASS_PRIMARY},
        {NULL, "guest", HPCB_CLASS_GUEST},   {"", "primary", HPCB_CLASS_PRIMARY},
    };

    test_load("GuestPartition=night\n", true);
    set_env("SLURM_JOB_PARTITION", rows[_i].partition);
    set_env("SPANK_HPCB_CLASS", rows[_i].label);
    setenv(OPTION "hpc_balance", "(null)", 1);
    host_prolog(42, test_user());
    ck_assert_int_eq(recorded(42).klass, rows[_i].klass);
    ck_assert_int_eq(recorded(42).uid, test_user());
    ck_assert_int_eq(recorded(42).policy, HPCB_POLICY_AUTO);
    ck_assert_str_eq(recorded(42).partition,
                     rows[_i].partition ? rows[_i].partition : "");
    ck_assert_uint_gt(recorded(42).begin_us, 1000000000ull * 1000000);
    ck_assert_str_eq(host_log(), "");
    ck_assert_int_eq(host_failures(), 0);
}
END_TEST

/* Without one, what slurmctld's plugin wrote; the default name of the partition only
 * lowers.  The record goes where the defaults say, so ask the pure function. */
START_TEST(class_without_configuration)
{
    test_load("", true);
    test_write("hpc-balance.conf", "StateDir=%s\nGuestPartition=night\nnonsense\n",
               state_dir());
    setenv("SLURM_JOB_PARTITION", "night", 1);
    host_prolog(42, test_user());
    ck_assert_int_eq(host_log_count("info: hpc_balance: "), 1);
    ck_assert_int_eq(host_log_count("hpc-balance.conf:3: nonsense"), 1);
    ck_assert_int_eq(host_log_count("error: hpc_balance: job 42: nothing tells"), 1);
    ck_assert_int_eq(host_failures(), 0);
}
END_TEST

START_TEST(first_record_wins)
{
    test_load("", true);
    test_record(42, "guest", "none", false);
    setenv("SLURM_JOB_PARTITION", "primary", 1);
    host_prolog(42, test_user());
    ck_assert_int_eq(recorded(42).klass, HPCB_CLASS_GUEST);
    ck_assert_str_eq(host_log(), "");
}
END_TEST

START_TEST(yield_is_decided)
{
    static const struct {
        const char *waits;
        const char *partition;
        const char *policy;
        bool yields;
    } rows[] = {
        {"none", "primary", NULL, false},   {"none", "primary", "auto", true},
        {"none", "primary", "x\"y", false}, {"none", "primary", "dlrb", true},
        {"all", "primary", NULL, true},     {"mpi,big", "big", NULL, true},
        {"mpi,big", "small", NULL, false},  {"none", "guest", "auto", false},
        {"all", "guest", NULL, false},      {"big,guest", "guest", NULL, true},
    };
    char line[64];

    snprintf(line, sizeof(line), "YieldWaits=%s\n", rows[_i].waits);
    test_load(line, true);
    setenv("SLURM_JOB_PARTITION", rows[_i].partition, 1);
    set_env(OPTION "hpc_balance", rows[_i].policy);
    host_prolog(42, test_user());
    ck_assert_int_eq(recorded(42).yield_waits, rows[_i].yields);
    ck_assert_int_eq(host_log_count("error:"), 0);
}
END_TEST

/* ---- StateDir cannot be written ---- */

#define MARK "sys/fs/cgroup/cpu/hpcb_guest/guest_42"

static void break_state(const char *partition, int version)
{
    test_load("", true);
    test_write("hpc-balance.conf", "StateDir=%s/hpc-balance.conf/sub\n", test_dir());
    if (version)
        test_write("proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup/cpu rw - %s\n",
                   version == 2 ? "cgroup2 cgroup2 rw" : "cgroup cgroup rw,cpu");
    test_write("sys/fs/cgroup/cpu/cgroup.controllers", "cpu memory pids\n");
    test_write("sys/fs/cgroup/cpu/cgroup.procs", "%s", "");
    setenv("SLURM_JOB_PARTITION", partition, 1);
}

/* The exit code of slurmstepd, which runs the hook for slurmd. */
static int prolog_exits(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        host_prolog(42, test_user());
        _exit(host_failures() ? 99 : 0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* One line, and the prolog still succeeds: a failing one would drain the node. */
START_TEST(primary_without_state)
{
    break_state("primary", _i);
    ck_assert_msg(prolog_exits() == 0, "%s", host_log());
    ck_assert_int_eq(host_log_count("error: hpc_balance: "), 1);
    ck_assert_int_eq(host_log_count("error: hpc_balance: job 42: "), 1);
    ck_assert(!test_exists(MARK));
}
END_TEST

/* What its steps say of themselves must not count. */
START_TEST(guest_without_state_is_marked)
{
    break_state("guest", _i);
    ck_assert_msg(prolog_exits() == 0, "%s", host_log());
    ck_assert_int_eq(host_log_count("error: hpc_balance: "), 1);
    ck_assert(test_exists(MARK));
}
END_TEST

/* slurmd goes by the exit code, also for an optional plugin. */
START_TEST(guest_without_state_and_mark_is_refused)
{
    break_state("guest", 0);
    ck_assert_int_eq(prolog_exits(), 1);
    ck_assert_int_eq(host_log_count("error: hpc_balance: guest job 42 is refused: "),
                     1);
}
END_TEST

/* Its number was a guest's before. */
START_TEST(primary_takes_an_old_mark_away)
{
    char path[4096];

    break_state("primary", 1);
    test_write(MARK "/.keep", "%s", "");
    snprintf(path, sizeof(path), "%s/" MARK "/.keep", test_dir());
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_msg(prolog_exits() == 0, "%s", host_log());
    ck_assert(!test_exists(MARK));
}
END_TEST

START_TEST(hostile_partition)
{
    static char name[5000];

    memset(name, 'x', sizeof(name) - 1);
    test_load("", true);
    setenv("SLURM_JOB_PARTITION", _i ? "a\nClass=primary" : name, 1);
    host_prolog(42, test_user());
    ck_assert_int_eq(host_failures(), 0);
    if (test_exists("state/jobs/42"))
        ck_assert_int_eq(recorded(42).klass, HPCB_CLASS_PRIMARY);
}
END_TEST

START_TEST(epilog_leaves_or_removes)
{
    char argument[] = "epilog=yes";
    const char *args[] = {NULL, NULL, _i ? argument : NULL, NULL};
    char conf[4096], root[4096];

    test_load("", true);
    snprintf(conf, sizeof(conf), "conf=%s/hpc-balance.conf", test_dir());
    snprintf(root, sizeof(root), "root=%s", test_dir());
    args[0] = conf;
    args[1] = root;
    host_load(args);
    test_record(42, "guest", "none", false);
    host_epilog(42, test_user());
    ck_assert_int_eq(test_exists("state/jobs/42"), !_i);
    ck_assert_int_eq(host_log_count("error:"), 0);
    ck_assert_int_eq(host_failures(), 0);
}
END_TEST

static unsigned long long start_of(pid_t pid)
{
    unsigned long long start = 0;
    char path[64], text[1024];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    ck_assert(file && fgets(text, sizeof(text), file));
    fclose(file);
    ck_assert_int_eq(sscanf(strrchr(text, ')') + 1,
                            " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
                            "%*d %*d %*d %*d %*d %llu",
                            &start),
                     1);
    return start;
}

/* Where Slurm does not kill all that a job has started (proctrack/pgid). */
START_TEST(epilog_lifts_nobody_who_outlives_the_job)
{
    const struct sched_param none = {0};
    char conf[4096], root[4096];
    const char *args[] = {conf, root, "epilog=yes", NULL};
    pid_t pid = fork();

    while (pid == 0)
        pause();
    ck_assert_int_eq(sched_setscheduler(pid, SCHED_IDLE, &none), 0);
    test_load("", true);
    snprintf(conf, sizeof(conf), "conf=%s/hpc-balance.conf", test_dir());
    snprintf(root, sizeof(root), "root=%s", test_dir());
    host_load(args);
    test_record(42, "guest", "none", false);
    test_write("state/jobs/42.undo", "\ntask %d %llu policy 0\\0400\n", (int)pid,
               start_of(pid));
    host_epilog(42, test_user());
    ck_assert_int_eq(sched_getscheduler(pid), SCHED_IDLE);
    ck_assert(!test_exists("state/jobs/42.undo"));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(unknown_argument)
{
    const char *args[] = {"conf=relative", "epilog=maybe", "", NULL};

    host_load(args);
    setenv("SLURM_JOB_PARTITION", "guest", 1);
    setenv("HPC_BALANCE_CONF", "/nonexistent/hpc-balance.conf", 1);
    host_epilog(42, test_user());
    ck_assert_int_eq(host_log_count("error: hpc_balance: plugstack.conf: "), 1);
    ck_assert_int_eq(host_failures(), 0);
}
END_TEST

TCase *prolog_tests(void)
{
    TCase *tc = tcase_create("prolog");

    tcase_add_checked_fixture(tc, test_setup, test_teardown);
    tcase_add_loop_test(tc, class_from_partition, 0, 8);
    tcase_add_test(tc, class_without_configuration);
    tcase_add_test(tc, first_record_wins);
    tcase_add_loop_test(tc, yield_is_decided, 0, 10);
    tcase_add_loop_test(tc, primary_without_state, 0, 3);
    tcase_add_loop_test(tc, guest_without_state_is_marked, 1, 3);
    tcase_add_test(tc, guest_without_state_and_mark_is_refused);
    tcase_add_test(tc, primary_takes_an_old_mark_away);
    tcase_add_loop_test(tc, hostile_partition, 0, 2);
    tcase_add_loop_test(tc, epilog_leaves_or_removes, 0, 2);
    tcase_add_test(tc, epilog_lifts_nobody_who_outlives_the_job);
    tcase_add_test(tc, unknown_argument);
    return tc;
}
