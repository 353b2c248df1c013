/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What a step leaves in StateDir/jobs/<id>.usage, on snapshots and on this kernel. */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "common/state.h"
#include "common/tasks.h"
#include "common/tell.h"
#include "tests/spank/tests.h"

#define JOB   9
#define SCOPE "/system.slice/slurmstepd.scope/job_9"

static uint32_t job_id = JOB;

static hpcb_usage_t recorded(void)
{
    char path[1024];
    hpcb_usage_t usage;
    hpcb_error_t err;

    snprintf(path, sizeof(path), "%s/state", test_dir());
    ck_assert_msg(hpcb_state_usage(path, job_id, &usage, &err) == 0, "%s", err.text);
    return usage;
}

static void run(int tasks, void (*forked)(pid_t pid), void (*program)(void))
{
    host_step_t step = {.job_id = job_id,
                        .uid = test_user(),
                        .tasks = tasks,
                        .forked = forked,
                        .program = program};

    host_step(&step);
    ck_assert_str_eq(step.err, "");
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_eq(host_log_count("error:") + host_log_count("info:"), 0);
}

/* ---- cgroup v2: Slurm's directory of the job counts ---- */

static void show_v2(pid_t pid)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)pid);
    test_write(name, "0::" SCOPE "/step_0/user/task_0\n");
    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)getpid());
    test_write(name, "0::" SCOPE "/step_0/slurm\n");
}

static void load_v2(void)
{
    test_load("", true);
    test_write("proc/self/mountinfo",
               "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    test_write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
    test_write("sys/fs/cgroup/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup" SCOPE "/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup" SCOPE "/cpu.stat", "usage_usec 7000000\n");
    test_write("sys/fs/cgroup" SCOPE "/cpu.pressure",
               "some avg10=0.00 avg60=0.00 avg300=0.00 total=4321\n");
    test_write("sys/fs/cgroup" SCOPE "/memory.peak", "987654321\n");
}

static int hpcbd = -1;
static unsigned messages;

/* Somebody listens where hpcbd would; what it is told waits there. */
static void start_hpcbd(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char state[1024];

    snprintf(state, sizeof(state), "%s/state", test_dir());
    ck_assert_int_eq(hpcb_tell_path(state, address.sun_path, sizeof(address.sun_path)),
                     0);
    hpcbd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(hpcbd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(hpcbd, 16), 0);
}

/* In slurmstepd, all tasks wait. */
static void count_messages(void)
{
    char text[HPCB_TELL_MAX];

    for (int fd; (fd = accept4(hpcbd, NULL, NULL, SOCK_NONBLOCK)) >= 0; close(fd))
        while (recv(fd, text, sizeof(text), MSG_DONTWAIT) > 0)
            messages++;
}

/* Whatever the step is to hpcbd: metered, balanced, a guest. */
START_TEST(hpcbd_is_notified_once_of_a_step)
{
    static const char *const klass[] = {"primary", "guest"};
    static const int tasks[] = {1, HOST_TASKS};
    const host_option_t options[] = {{"hpc-balance", "dlrb"}, {NULL, NULL}};
    char place[1024], path[1024], cores[64];

    load_v2();
    start_hpcbd();
    test_record(JOB, klass[_i % 2], "none", false);
    host_step(&(host_step_t){.job_id = JOB,
                             .uid = test_user(),
                             .tasks = tasks[_i / 2],
                             .options = options,
                             .forked = show_v2,
                             .running = count_messages});
    ck_assert_uint_eq(messages, 1);
    snprintf(path, sizeof(path), "%s/state", test_dir());
    ck_assert_int_eq(hpcb_state_load_place(path, JOB, place, sizeof(place), NULL), 0);
    ck_assert_ptr_nonnull(strstr(place, SCOPE));
    ck_assert_int_eq(hpcb_state_load_cores(path, JOB, cores, sizeof(cores), NULL), 0);
    ck_assert_str_eq(cores, HOST_CORES);
}
END_TEST

/* The job's total: two steps that both see it are not two jobs. */
START_TEST(v2_total)
{
    load_v2();
    test_record(JOB, "primary", "none", false);
    run(3, show_v2, NULL);
    ck_assert_uint_eq(recorded().cpu_us, 7000000);
    load_v2();
    run(1, show_v2, NULL);
    ck_assert_uint_eq(recorded().cpu_us, 7000000);
    ck_assert_uint_eq(recorded().run_delay_us, 4321);
    ck_assert_uint_eq(recorded().memory_peak, 987654321);
}
END_TEST

static void end_job(pid_t pid)
{
    char path[1024];

    show_v2(pid);
    snprintf(path, sizeof(path), "%s/state/jobs/9", test_dir());
    ck_assert_int_eq(unlink(path), 0);
}

/* The epilog was faster: nobody would ever clean up. */
START_TEST(no_usage_after_the_epilog)
{
    load_v2();
    test_record(JOB, "primary", "none", false);
    run(1, end_job, NULL);
    ck_assert_int_eq(test_exists("state/jobs/9.usage"), 0);
}
END_TEST

/* Its prolog was left out; the epilog will come. */
START_TEST(usage_without_a_record)
{
    load_v2();
    test_write("state/jobs/8", "%s", "");
    host_step(&(host_step_t){
        .job_id = JOB, .uid = test_user(), .tasks = 1, .forked = show_v2});
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_uint_eq(recorded().cpu_us, 7000000);
}
END_TEST

/* Nothing to meter with, and nothing that says so above debug level. */
START_TEST(nothing_to_read)
{
    test_load("", true);
    test_record(JOB, "primary", "none", false);
    run(1, NULL, NULL);
    ck_assert_int_eq(test_exists("state/jobs/9.usage"), 0);
}
END_TEST

/* ---- the line at the end of a batch script ---- */

#define GUEST_LINE                                                                     \
    "hpc_balance: this guest got 00:00:07 of CPU time on this node, 1% of 6 CPUs for " \
    "00:01:4"
#define BALANCED_LINE "hpc_balance: this job used 1% of 6 CPUs on this node for 00:01:4"
#define RANKS         "; load balance of 2 ranks 75% (mean CPU time by the highest)"

/* A step of a job that began so many seconds ago. */
static void end_step(uint32_t step_id, const char *klass, const char *policy,
                     int seconds)
{
    int64_t now_us = (int64_t)time(NULL) * 1000000;

    load_v2();
    test_write("state/jobs/9",
               "JobId=9\nUid=%u\nClass=%s\nPolicy=%s\nYieldWaits=no\nPartition=p\n"
               "Begin=%llu\n",
               (unsigned)test_user(), klass, policy,
               (unsigned long long)(now_us - (int64_t)seconds * 1000000));
    host_step(&(host_step_t){.job_id = JOB,
                             .step_id = step_id,
                             .uid = test_user(),
                             .tasks = 1,
                             .forked = show_v2});
    ck_assert_int_eq(host_failures(), 0);
}

START_TEST(a_guest_reads_what_it_got)
{
    end_step(SLURM_BATCH_SCRIPT, "guest", "none", 100);
    ck_assert_msg(host_log_count(GUEST_LINE) == 1, "%s", host_log());
}
END_TEST

START_TEST(a_balanced_job_reads_how_its_ranks_differ)
{
    const hpcb_task_usage_t tasks[] = {
        {"0", 0, 1000000, 0}, {"1", 0, 3000000, 0}, {"1", 1, 6000000, 0}};
    char path[1024];

    snprintf(path, sizeof(path), "%s/state", test_dir());
    test_write("state/jobs/9.tasks", "%s", "");
    ck_assert_int_eq(hpcb_tasks_add(path, JOB, tasks, 3, NULL), 0);
    end_step(SLURM_BATCH_SCRIPT, "primary", "dlrb", 100);
    ck_assert_msg(host_log_count(BALANCED_LINE) == 1 && host_log_count(RANKS) == 1,
                  "%s", host_log());
}
END_TEST

/* A step of srun's, a job that asked for nothing, one that has only begun.  By the
 * clock it begins in a minute: its step may take seconds on a busy machine. */
START_TEST(nobody_else_reads_a_line)
{
    end_step(0, "guest", "none", 100);
    end_step(SLURM_BATCH_SCRIPT, "primary", "none", 100);
    end_step(SLURM_BATCH_SCRIPT, "guest", "none", -60);
    ck_assert_msg(host_log_count("hpc_balance: this ") == 0, "%s", host_log());
}
END_TEST

/* ---- this kernel, with a group of our own that is removed again ---- */

static char group[64], cpu_dir[256], unified_dir[256];

static const char *first_existing(const char *const *paths)
{
    while (*paths && access(*paths, W_OK) != 0)
        paths++;
    return *paths;
}

/* False where this machine gives us no cgroups to write to. */
static bool load_live(void)
{
    static const char *const cpu[] = {"/sys/fs/cgroup/cpu/cpu.shares",
                                      "/sys/fs/cgroup/cpu,cpuacct/cpu.shares", NULL};
    static const char *const unified[] = {"/sys/fs/cgroup/unified/cgroup.procs", NULL};
    char conf[1024];
    const char *args[] = {conf, "epilog=yes", NULL};
    const char *found = first_existing(cpu);

    if (getuid() != 0 || !found || !first_existing(unified))
        return false;
    job_id = 4000000000u + (uint32_t)getpid();
    snprintf(group, sizeof(group), "hpcb_spank_test_%d", (int)getpid());
    snprintf(cpu_dir, sizeof(cpu_dir), "%.*s/%s", (int)(strrchr(found, '/') - found),
             found, group);
    snprintf(unified_dir, sizeof(unified_dir), "/sys/fs/cgroup/unified/hpcb/job_%u",
             job_id);
    test_write("hpc-balance.conf", "StateDir=%s/state\nGuestCgroup=%s\n", test_dir(),
               group);
    snprintf(conf, sizeof(conf), "conf=%s/hpc-balance.conf", test_dir());
    host_load(args);
    return true;
}

/* An idle guest on a busy machine gets a third of a percent: 10 ms may take seconds. */
static void burn(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[4096];

    while (clock() < CLOCKS_PER_SEC / 100)
        ;
    while (file && fgets(line, sizeof(line), file)) {
        if (strstr(line, "cpu,") || strstr(line, ":cpu:"))
            fputs(line, stdout);
    }
    fflush(stdout);
}

typedef struct {
    host_step_t step; /* out: the cpu groups that the tasks say they ran in */
    hpcb_usage_t usage;
    bool left_cpu; /* what the epilog hook left behind */
    bool left_unified;
} live_t;

/* Nothing is asserted before everything has been removed again. */
static bool live_step(const char *klass, live_t *live)
{
    if (!load_live())
        return false;
    test_record(job_id, klass, "none", false);
    *live = (live_t){
        .step = {.job_id = job_id, .uid = test_user(), .tasks = 2, .program = burn}};
    host_step(&live->step);
    live->usage = recorded();
    host_epilog(job_id, test_user());
    live->left_cpu = access(cpu_dir, F_OK) == 0;
    live->left_unified = access(unified_dir, F_OK) == 0;
    return true;
}

static void check_live(const live_t *live)
{
    ck_assert_str_eq(live->step.err, "");
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_lt(host_longest_us(), TEST_PATIENCE_US);
    ck_assert_int_eq(host_log_count("error:"), 0);
    ck_assert(!live->left_cpu && !live->left_unified);
    /* 2 tasks of 10 ms, by a clock that is not the one that counts. */
    ck_assert_uint_ge(live->usage.cpu_us, 15000);
    ck_assert_uint_lt(live->usage.cpu_us, 1000000);
}

START_TEST(live_guest)
{
    char expected[256];
    live_t live;
    int found = 0;

    if (!live_step("guest", &live))
        return;
    check_live(&live);
    snprintf(expected, sizeof(expected), ":/%s/job_%u\n", group, job_id);
    for (const char *p = live.step.out; (p = strstr(p, expected)); p++)
        found++;
    ck_assert_msg(found == 2, "%s%s", live.step.out, host_log());
}
END_TEST

START_TEST(live_primary)
{
    live_t live;

    if (!live_step("primary", &live))
        return;
    check_live(&live);
    ck_assert_ptr_null(strstr(live.step.out, "hpcb_spank"));
}
END_TEST

TCase *usage_tests(void)
{
    TCase *tc = tcase_create("usage");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, test_setup, test_teardown);
    tcase_add_loop_test(tc, hpcbd_is_notified_once_of_a_step, 0, 4);
    tcase_add_test(tc, v2_total);
    tcase_add_test(tc, no_usage_after_the_epilog);
    tcase_add_test(tc, usage_without_a_record);
    tcase_add_test(tc, nothing_to_read);
    tcase_add_test(tc, a_guest_reads_what_it_got);
    tcase_add_test(tc, a_balanced_job_reads_how_its_ranks_differ);
    tcase_add_test(tc, nobody_else_reads_a_line);
    tcase_add_test(tc, live_guest);
    tcase_add_test(tc, live_primary);
    return tc;
}
