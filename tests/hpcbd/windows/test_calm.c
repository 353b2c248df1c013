/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The hands of windows (cgroup/favour.h, hpcbd/windows/calm.h) on copies of snapshots
 * that answer as the kernel does (tests/cgroup/fake_kernel.h): what an edge writes,
 * what is left alone, and that a daemon that has died leaves nothing behind.  Real-time
 * scheduling is test_node's, which runs the daemon.
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
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/favour.h"
#include "cgroup/knob.h"
#include "common/log.h"
#include "hpcbd/windows/calm.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/cgroup/real_kernel.h"

#define GROUP   "windows"
#define CPU     "sys/fs/cgroup/cpu/"
#define V1_JOB  "sys/fs/cgroup/freezer/slurm_scb1/uid_7001/job_5"
#define V1_OURS CPU GROUP "_5/"
#define V2_JOB  "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4"
#define V2_USER "sys/fs/cgroup/user.slice"
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

#define USER   "/step_0/user/cgroup.freeze" /* as Slurm suspends */
#define TASK   "/step_0/user/task_0"
#define FROZEN TASK "/cgroup.freeze"
#define EXTERN "/step_extern/user/task_special"

static const char *root;
static hpcb_node_t *node;
static char state[128], dir[PATH_MAX];

static void no_log(hpcb_log_level_t level, const char *line)
{
    (void)level;
    (void)line;
}

static void begin(const char *snapshot, const char *job_dir)
{
    hpcb_error_t err;

    hpcb_log_set_sink(no_log);
    root = fake_start(snapshot);
    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
    snprintf(state, sizeof(state), "%s/state", root);
    snprintf(dir, sizeof(dir), "%s/%s", root, job_dir);
}

static void end(void)
{
    hpcb_node_close(node);
    fake_stop();
}

static hpcb_favour_t *open_favour(uint32_t job_id, hpcb_window_mechanism_t wanted)
{
    const hpcb_favour_job_t job = {.node = node,
                                   .job_id = job_id,
                                   .dir = dir,
                                   .state_dir = state,
                                   .cgroup = GROUP,
                                   .permille = 900,
                                   .wanted = wanted};
    hpcb_favour_t *favour = NULL;
    hpcb_error_t err;

    ck_assert_msg(hpcb_favour_open(&job, &favour, &err) == 0, "%s", err.text);
    return favour;
}

/* A task of the job, where Slurm would have put it. */
static pid_t add_task(const char *procs)
{
    pid_t pid = fake_task(100);
    char text[16];

    snprintf(text, sizeof(text), "%d\n", (int)pid);
    fake_write(procs, text);
    return pid;
}

static void look(hpcb_favour_t *favour, const char *mechanism)
{
    hpcb_error_t err;

    ck_assert_msg(hpcb_favour_look(favour, &err) == 0, "%s", err.text);
    ck_assert_msg(strcmp(hpcb_favour_mechanism(favour), mechanism) == 0, "%s: %s",
                  hpcb_favour_mechanism(favour), hpcb_favour_why(favour));
}

static int release(void)
{
    int favour = hpcb_favour_release(node, state, GROUP, NULL);
    int frozen = hpcb_freeze_release(node, state, NULL);

    return favour < 0 || frozen < 0 ? -1 : favour + frozen;
}

START_TEST(v2_weight_of_the_job)
{
    hpcb_favour_t *favour;
    int changes;

    begin("v2-slurm22", V2_JOB);
    fake_write(V2_JOB "/cpu.weight", "250\n");
    add_task(V2_JOB "/step_0/user/cgroup.procs");
    favour = open_favour(4, HPCB_WINDOW_WEIGHT);
    look(favour, "weight");
    ck_assert_str_eq(fake_read(V2_JOB "/cpu.weight"), "250");
    for (int i = 0; i < 3; i++) {
        changes = fake_changes();
        ck_assert_int_eq(hpcb_favour_begin(favour, NULL), 0);
        ck_assert_str_eq(fake_read(V2_JOB "/cpu.weight"), "10000");
        ck_assert_int_eq(hpcb_favour_end(favour, NULL), 0);
        ck_assert_str_eq(fake_read(V2_JOB "/cpu.weight"), "250");
        ck_assert_int_eq(fake_changes() - changes, 2);
        look(favour, "weight");
    }
    /* Not its parents', and nobody's idle flag. */
    ck_assert_str_eq(fake_read(V2_JOB "/../cpu.weight"), "100");
    ck_assert_str_eq(fake_read(V2_JOB "/cpu.idle"), "0");
    hpcb_favour_begin(favour, NULL);
    hpcb_favour_close(favour);
    ck_assert_str_eq(fake_read(V2_JOB "/cpu.weight"), "250");
    ck_assert_int_eq(release(), 0);
    end();
}
END_TEST

START_TEST(v2_weight_after_a_crash)
{
    hpcb_favour_t *favour;

    begin("v2-slurm22", V2_JOB);
    fake_write(V2_JOB "/cpu.weight", "250\n");
    add_task(V2_JOB "/step_0/user/cgroup.procs");
    favour = open_favour(4, HPCB_WINDOW_WEIGHT);
    look(favour, "weight");
    hpcb_favour_begin(favour, NULL);
    /* What another process does when this one is no more. */
    ck_assert_int_ge(release(), 1);
    ck_assert_str_eq(fake_read(V2_JOB "/cpu.weight"), "250");
    ck_assert_int_eq(release(), 0);
    /* It was an admin, and the daemon lives: its next window can be undone too. */
    hpcb_favour_begin(favour, NULL);
    ck_assert_str_eq(fake_read(V2_JOB "/cpu.weight"), "10000");
    ck_assert_int_ge(release(), 1);
    ck_assert_str_eq(fake_read(V2_JOB "/cpu.weight"), "250");
    hpcb_favour_close(favour);
    end();
}
END_TEST

START_TEST(v1_weight_of_a_group_of_ours)
{
    char path[64], moved[64];
    hpcb_favour_t *favour;
    pid_t pid;

    begin("v1-hybrid", V1_JOB);
    pid = add_task(V1_JOB "/step_0/cgroup.procs");
    snprintf(path, sizeof(path), "proc/%d/cgroup", (int)pid);
    snprintf(moved, sizeof(moved), ":cpu:/%s_5\n", GROUP);
    favour = open_favour(5, HPCB_WINDOW_WEIGHT);
    look(favour, "weight");
    ck_assert_ptr_nonnull(strstr(fake_read(path), moved));
    ck_assert_str_eq(fake_read(V1_OURS "cpu.shares"), "1024");
    hpcb_favour_begin(favour, NULL);
    ck_assert_str_eq(fake_read(V1_OURS "cpu.shares"), "262144");
    hpcb_favour_end(favour, NULL);
    ck_assert_str_eq(fake_read(V1_OURS "cpu.shares"), "1024");
    hpcb_favour_begin(favour, NULL);
    ck_assert_int_ge(release(), 1);
    ck_assert_ptr_nonnull(strstr(fake_read(path), ":cpu:/\n"));
    ck_assert_str_eq(fake_read(V1_OURS "cpu.shares"), "(none)");
    /* The daemon that comes next knows nothing of all that. */
    hpcb_favour_close(favour);
    favour = open_favour(5, HPCB_WINDOW_WEIGHT);
    look(favour, "weight");
    hpcb_favour_close(favour);
    ck_assert_ptr_nonnull(strstr(fake_read(path), ":cpu:/\n"));
    ck_assert_str_eq(fake_read(V1_OURS "cpu.shares"), "(none)");
    end();
}
END_TEST

START_TEST(a_small_budget_is_no_favour)
{
    hpcb_favour_t *favour;

    begin("v1-hybrid", V1_JOB);
    fake_write(CPU "cpu.rt_period_us", "1000000\n");
    fake_write(CPU "cpu.rt_runtime_us", "800000\n");
    add_task(V1_JOB "/step_0/cgroup.procs");
    favour = open_favour(5, HPCB_WINDOW_AUTO);
    look(favour, "weight");
    ck_assert_ptr_nonnull(strstr(hpcb_favour_why(favour), "rt_runtime_us is 800000"));
    hpcb_favour_close(favour);
    /* One that ends with the favoured part would keep hpcbd from ending it. */
    fake_write(CPU "cpu.rt_runtime_us", "900000\n");
    favour = open_favour(5, HPCB_WINDOW_AUTO);
    look(favour, "weight");
    ck_assert_ptr_nonnull(strstr(hpcb_favour_why(favour), "rt_runtime_us is 900000"));
    hpcb_favour_close(favour);
    favour = open_favour(5, HPCB_WINDOW_FIFO);
    look(favour, "none");
    ck_assert_int_eq(hpcb_favour_begin(favour, NULL), 0);
    ck_assert_int_eq(hpcb_favour_end(favour, NULL), 0);
    hpcb_favour_close(favour);
    end();
}
END_TEST

/* Where real-time threads have no limit, nothing else would run until the end of the
 * favoured part. */
START_TEST(no_limit_is_no_favour_either)
{
    hpcb_favour_t *favour;

    begin("v1-hybrid", V1_JOB);
    add_task(V1_JOB "/step_0/cgroup.procs");
    if (_i == 0) {
        fake_write("proc/sys/kernel/sched_rt_period_us", "1000000\n");
        fake_write("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
    } else {
        fake_write(CPU "cpu.rt_period_us", "1000000\n");
        fake_write(CPU "cpu.rt_runtime_us", "-1\n");
    }
    favour = open_favour(5, HPCB_WINDOW_AUTO);
    look(favour, "weight");
    ck_assert_ptr_nonnull(strstr(hpcb_favour_why(favour), "rt_runtime_us is -1"));
    hpcb_favour_close(favour);
    favour = open_favour(5, HPCB_WINDOW_FIFO);
    look(favour, "none");
    hpcb_favour_close(favour);
    end();
}
END_TEST

START_TEST(a_scheduler_that_need_not_obey_is_no_favour)
{
    hpcb_favour_t *favour;
    char kernel[PATH_MAX];

    begin("v2-slurm22", V2_JOB);
    snprintf(kernel, sizeof(kernel), "%s/sys/kernel", root);
    ck_assert_int_eq(hpcb_knob_mkdir(kernel, "", NULL), 0);
    ck_assert_int_eq(hpcb_knob_mkdir(kernel, "sched_ext", NULL), 0);
    fake_write("sys/kernel/sched_ext/state", "enabled\n");
    add_task(V2_JOB "/step_0/user/cgroup.procs");
    favour = open_favour(4, HPCB_WINDOW_WEIGHT);
    look(favour, "none");
    ck_assert_ptr_nonnull(strstr(hpcb_favour_why(favour), "sched_ext"));
    hpcb_favour_close(favour);
    end();
}
END_TEST

START_TEST(a_job_that_has_gone_is_no_error)
{
    hpcb_favour_t *favour;
    char gone[PATH_MAX + 8];

    begin("v2-slurm22", V2_JOB);
    add_task(V2_JOB "/step_0/user/cgroup.procs");
    favour = open_favour(4, HPCB_WINDOW_WEIGHT);
    look(favour, "weight");
    hpcb_favour_begin(favour, NULL);
    snprintf(gone, sizeof(gone), "%s.gone", dir);
    ck_assert_int_eq(rename(dir, gone), 0);
    ck_assert_int_eq(hpcb_favour_end(favour, NULL), 0);
    ck_assert_int_eq(hpcb_favour_look(favour, NULL), -1);
    ck_assert_int_eq(errno, ENOENT);
    hpcb_favour_close(favour);
    ck_assert_int_eq(release(), 0);
    end();
}
END_TEST

/* A process with a number of the test's choice (Linux 5.5), asleep; -1 with errno. */
static pid_t sleeper_called(pid_t pid)
{
    /* struct clone_args, which not every libc has. */
    const uint64_t args[] = {[4] = SIGCHLD, [8] = (uintptr_t)&pid, [9] = 1};
    pid_t child = (pid_t)syscall(SYS_clone3, args, sizeof(args));

    while (child == 0)
        pause();
    return child;
}

static bool is_fifo(pid_t pid)
{
    return (sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO;
}

START_TEST(who_has_the_number_of_a_thread_that_ended_is_left_alone)
{
    const struct timespec tick = {.tv_nsec = 50000000};
    hpcb_favour_t *favour;
    pid_t pid;

    begin("v2-slurm22", V2_JOB);
    pid = add_task(V2_JOB "/step_0/user/cgroup.procs");
    favour = open_favour(4, HPCB_WINDOW_FIFO);
    look(favour, "fifo");
    if (hpcb_favour_begin(favour, NULL) < 0) {
        fprintf(stderr, "# skipped: no real-time policy here\n");
    } else {
        ck_assert(is_fifo(pid));
        hpcb_favour_end(favour, NULL);
        ck_assert(!is_fifo(pid));
        nanosleep(&tick, NULL); /* a start is told in ticks */
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        ck_assert_msg(sleeper_called(pid) == pid, "%s", strerror(errno));
        ck_assert_int_eq(hpcb_favour_begin(favour, NULL), 0);
        ck_assert(!is_fifo(pid));
    }
    hpcb_favour_close(favour);
    end();
}
END_TEST

/* Field 18 of stat: below 0 is real-time, whatever the policy. */
static long priority_of(pid_t pid)
{
    char path[64], text[1024];
    long priority = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    ck_assert(file && fgets(text, sizeof(text), file));
    fclose(file);
    ck_assert_int_eq(sscanf(strrchr(text, ')') + 1,
                            " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
                            "%*d %ld",
                            &priority),
                     1);
    return priority;
}

/* Locks the mutex and sleeps; the next one waits for it. */
static pid_t locker(pthread_mutex_t *mutex)
{
    const struct timespec tick = {.tv_nsec = 50000000};
    pid_t pid = fork();

    if (pid == 0) {
        pthread_mutex_lock(mutex);
        for (;;)
            pause();
    }
    nanosleep(&tick, NULL);
    return pid;
}

static pthread_mutex_t *inheriting_mutex(void)
{
    pthread_mutex_t *mutex = mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;

    ck_assert(mutex != MAP_FAILED);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    ck_assert_int_eq(pthread_mutex_init(mutex, &attributes), 0);
    return mutex;
}

/* A guest holds the futex that a thread of its user's primary waits for. */
START_TEST(fifo_reaches_whoever_holds_the_futex_unless_it_is_forbidden)
{
    pthread_mutex_t *mutex = inheriting_mutex();
    pid_t guest = locker(mutex), primary = locker(mutex);
    hpcb_favour_t *favour;
    char path[64], cgroup[512], text[16];

    begin("v2-slurm22", V2_JOB);
    snprintf(cgroup, sizeof(cgroup), "%s\n", fake_read("proc/100/cgroup"));
    snprintf(path, sizeof(path), "proc/%d", (int)primary);
    ck_assert_int_eq(hpcb_knob_mkdir(root, path, NULL), 0);
    snprintf(path, sizeof(path), "proc/%d/cgroup", (int)primary);
    fake_write(path, cgroup);
    snprintf(text, sizeof(text), "%d\n", (int)primary);
    fake_write(V2_JOB "/step_0/user/cgroup.procs", text);
    favour = open_favour(4, HPCB_WINDOW_AUTO);
    look(favour, "fifo");
    if (hpcb_favour_begin(favour, NULL) < 0)
        fprintf(stderr, "# skipped: no real-time policy here\n");
    else
        ck_assert_int_lt(priority_of(guest), 0);
    hpcb_favour_forbid_fifo(favour, "its user has a guest");
    look(favour, "weight");
    ck_assert_ptr_nonnull(strstr(hpcb_favour_why(favour), "its user has a guest"));
    ck_assert_int_eq(hpcb_favour_begin(favour, NULL), 0);
    ck_assert_int_ge(priority_of(guest), 0);
    ck_assert(!is_fifo(primary));
    hpcb_favour_forbid_fifo(favour, NULL);
    look(favour, "fifo");
    hpcb_favour_close(favour);
    ck_assert_str_eq(fake_read(V2_JOB "/cpu.weight"), "100");
    kill(primary, SIGKILL);
    kill(guest, SIGKILL);
    end();
}
END_TEST

/* On the running kernel. */
START_TEST(a_knob_that_is_kept_open_is_of_the_group_that_is_there)
{
    char cpu[PATH_MAX], text[32];
    hpcb_node_t *here;
    int fd = -1;

    if (!real_enter()) {
        fprintf(stderr, "# skipped: %s\n", real_why());
        return;
    }
    ck_assert_int_eq(hpcb_node_open("/", &here, NULL), 0);
    snprintf(cpu, sizeof(cpu), "%s/job", hpcb_node_mount(here, HPCB_CTL_CPU));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(hpcb_knob_mkdir(cpu, "", NULL), 0);
        ck_assert_int_eq(hpcb_knob_write_kept(&fd, cpu, "cpu.shares", "262144", NULL),
                         0);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(hpcb_knob_write_kept(&fd, cpu, "cpu.shares", "1024", NULL), 0);
        ck_assert_int_eq(hpcb_knob_read(cpu, "cpu.shares", text, sizeof(text), NULL),
                         0);
        ck_assert_str_eq(text, "1024");
        ck_assert_int_eq(hpcb_knob_rmdir(cpu, "", NULL), 0);
    }
    ck_assert_int_eq(hpcb_knob_write_kept(&fd, cpu, "cpu.shares", "1024", NULL), -1);
    ck_assert(hpcb_knob_gone(errno));
    ck_assert_int_eq(fd, -1);
    hpcb_node_close(here);
}
END_TEST

static hpcbd_registry_t registry;
static hpcbd_job_t jobs[2];

static void register_job(uint32_t job_id, hpcb_class_t klass)
{
    hpcbd_job_t *job = &jobs[registry.count];

    *job = (hpcbd_job_t){.state = {.job_id = job_id, .klass = klass}};
    snprintf(job->dir, sizeof(job->dir), "%s", dir);
    registry.jobs[registry.count++] = job;
}

static hpcb_conf_t conf_of(bool freeze, const char *groups)
{
    hpcb_conf_t conf;

    hpcb_conf_defaults(&conf);
    conf.window_freezes_guests = freeze;
    snprintf(conf.window_idle_groups, sizeof(conf.window_idle_groups), "%s", groups);
    return conf;
}

static hpcbd_freeze_t *freeze;

static void look_around(hpcbd_calm_t *calm, const hpcb_conf_t *conf)
{
    hpcbd_freeze_look(freeze, &registry);
    hpcbd_calm_look(calm, conf, &registry);
}

static hpcbd_calm_t *open_calm(const hpcb_conf_t *conf)
{
    hpcbd_calm_t *calm;

    freeze = hpcbd_freeze_new(node, state);
    ck_assert_ptr_nonnull(freeze);
    calm = hpcbd_calm_new(node, freeze, state);
    ck_assert_ptr_nonnull(calm);
    look_around(calm, conf);
    return calm;
}

static void close_calm(hpcbd_calm_t *calm)
{
    hpcbd_calm_free(calm);
    hpcbd_freeze_free(freeze);
}

static void make_group(const char *path)
{
    char group[PATH_MAX];

    snprintf(group, sizeof(group), "%s/%s", root, path);
    ck_assert_int_eq(hpcb_knob_mkdir(group, "", NULL), 0);
}

/* Job 4 is a guest with one task. */
static void begin_guest(void)
{
    begin("v2-slurm22", V2_JOB);
    make_group(V2_JOB TASK);
    registry.count = 0;
    register_job(4, HPCB_CLASS_GUEST);
}

START_TEST(v2_guests_are_frozen)
{
    hpcb_conf_t conf = conf_of(true, ""), idle = conf_of(false, "");
    hpcbd_calm_t *calm;

    begin_guest();
    make_group(V2_JOB EXTERN);
    calm = open_calm(&conf);
    hpcbd_calm_begin(calm);
    ck_assert_str_eq(fake_read(V2_JOB FROZEN), "1");
    ck_assert_str_eq(fake_read(V2_JOB EXTERN "/cgroup.freeze"), "1");
    hpcbd_calm_end(calm);
    ck_assert_str_eq(fake_read(V2_JOB FROZEN), "0");
    ck_assert_str_eq(fake_read(V2_JOB EXTERN "/cgroup.freeze"), "0");
    /* It is no guest of ours any more, while it is frozen. */
    hpcbd_calm_begin(calm);
    registry.count = 0;
    look_around(calm, &conf);
    ck_assert_str_eq(fake_read(V2_JOB FROZEN), "0");
    /* One that comes while it is calm. */
    register_job(4, HPCB_CLASS_GUEST);
    look_around(calm, &conf);
    ck_assert_str_eq(fake_read(V2_JOB FROZEN), "1");
    /* Read anew: guests are not frozen any more. */
    look_around(calm, &idle);
    ck_assert_str_eq(fake_read(V2_JOB FROZEN), "0");
    look_around(calm, &conf);
    /* The daemon dies. */
    ck_assert_int_ge(release(), 1);
    ck_assert_str_eq(fake_read(V2_JOB FROZEN), "0");
    close_calm(calm);
    end();
}
END_TEST

/* scontrol suspend and resume, before and while the node is calm. */
START_TEST(who_is_suspended_by_slurm_stays_so)
{
    hpcb_conf_t conf = conf_of(true, "");
    hpcbd_calm_t *calm;

    begin_guest();
    fake_write(V2_JOB USER, "1\n");
    calm = open_calm(&conf);
    hpcbd_calm_begin(calm);
    hpcbd_calm_end(calm);
    ck_assert_str_eq(fake_read(V2_JOB USER), "1");
    fake_write(V2_JOB USER, "0\n");
    look_around(calm, &conf);
    hpcbd_calm_begin(calm);
    fake_write(V2_JOB USER, "1\n");
    hpcbd_calm_end(calm);
    ck_assert_str_eq(fake_read(V2_JOB USER), "1");
    /* Resumed in a favoured part: it waits for the end of it. */
    hpcbd_calm_begin(calm);
    fake_write(V2_JOB USER, "0\n");
    ck_assert_str_eq(fake_read(V2_JOB FROZEN), "1");
    fake_write(V2_JOB USER, "1\n");
    /* The daemon dies. */
    ck_assert_int_ge(release(), 1);
    ck_assert_str_eq(fake_read(V2_JOB FROZEN), "0");
    ck_assert_str_eq(fake_read(V2_JOB USER), "1");
    close_calm(calm);
    ck_assert_str_eq(fake_read(V2_JOB USER), "1");
    end();
}
END_TEST

START_TEST(groups_of_the_system_are_idle_where_nothing_is_lost)
{
    hpcb_conf_t conf = conf_of(false, "user.slice,system.slice");
    hpcb_favour_t *favour;
    hpcbd_calm_t *calm;

    begin("v2-slurm22", V2_JOB);
    ck_assert_int_eq(
        hpcb_knob_mkdir(hpcb_node_mount(node, HPCB_CTL_CPU), "user.slice", NULL), 0);
    /* A root group has no weight for others to inherit here. */
    fake_write(V2_USER "/cpu.idle", "0\n");
    fake_write(V2_USER "/cpu.weight", "100\n");
    favour = open_favour(4, HPCB_WINDOW_WEIGHT);
    registry.count = 0;
    register_job(4, HPCB_CLASS_PRIMARY);
    jobs[0].favour = favour;
    calm = open_calm(&conf);
    hpcbd_calm_begin(calm);
    ck_assert_str_eq(fake_read(V2_USER "/cpu.idle"), "1");
    ck_assert_str_eq(fake_read("sys/fs/cgroup/system.slice/cpu.idle"), "0");
    ck_assert_int_ge(release(), 1);
    ck_assert_str_eq(fake_read(V2_USER "/cpu.idle"), "0");
    close_calm(calm);
    /* Idle and back is the default weight: this one would lose its own. */
    fake_write(V2_USER "/cpu.weight", "200\n");
    calm = open_calm(&conf);
    hpcbd_calm_begin(calm);
    ck_assert_str_eq(fake_read(V2_USER "/cpu.idle"), "0");
    close_calm(calm);
    hpcb_favour_close(favour);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_favour");
    TCase *tc = tcase_create("node_favour");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, v2_weight_of_the_job);
    tcase_add_test(tc, v2_weight_after_a_crash);
    tcase_add_test(tc, v1_weight_of_a_group_of_ours);
    tcase_add_test(tc, a_small_budget_is_no_favour);
    tcase_add_loop_test(tc, no_limit_is_no_favour_either, 0, 2);
    tcase_add_test(tc, a_scheduler_that_need_not_obey_is_no_favour);
    tcase_add_test(tc, a_job_that_has_gone_is_no_error);
    tcase_add_test(tc, who_has_the_number_of_a_thread_that_ended_is_left_alone);
    tcase_add_test(tc, fifo_reaches_whoever_holds_the_futex_unless_it_is_forbidden);
    tcase_add_test(tc, v2_guests_are_frozen);
    tcase_add_test(tc, who_is_suspended_by_slurm_stays_so);
    tcase_add_test(tc, groups_of_the_system_are_idle_where_nothing_is_lost);
    suite_add_tcase(suite, tc);
    tc = tcase_create("running kernel");
    tcase_add_unchecked_fixture(tc, real_setup, real_teardown);
    tcase_add_test(tc, a_knob_that_is_kept_open_is_of_the_group_that_is_there);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
