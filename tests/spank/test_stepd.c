/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * slurmstepd of a guest on cgroup v2: this process is slurmstepd.  What the lift is
 * worth shows only beside a busy primary (tests/e2e).
 */
#include "config.h"

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
#include "tests/spank/tests.h"

#define JOB    9
#define SCOPE  "/system.slice/slurmstepd.scope"
#define LIFTED (SCHED_FIFO | SCHED_RESET_ON_FORK)

#define LOOK_MS 500
#define CREDIT  600 /* ms of CPU time that are too many */

static int at_fork, of_child, of_thread, of_spender;

static bool root_and_realtime(void)
{
    static const struct sched_param lowest = {.sched_priority = 1};

    if (sched_setscheduler(0, SCHED_FIFO, &lowest) < 0)
        return false;
    return sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0}) == 0;
}

static void show_self(const char *group)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)getpid());
    test_write(name, "%s\n", group);
}

static void load(int version)
{
    test_load("", false);
    test_write("proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw - %s\n",
               version == 2 ? "cgroup2 cgroup2 rw" : "cgroup cgroup rw,cpu,cpuacct");
    test_write("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
    test_write("sys/fs/cgroup/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup" SCOPE "/job_9/cgroup.procs", "%s", "");
    show_self("0::" SCOPE "/job_9/step_0/slurm");
}

/* In slurmstepd, after init_post_opt, and in the task, which it has forked. */
static void look_at_fork(pid_t pid)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)pid);
    test_write(name, "0::" SCOPE "/job_9/step_0/user/task_0\n");
    at_fork = sched_getscheduler(0);
    of_child = sched_getscheduler(pid);
}

static void wait_ms(unsigned ms)
{
    struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) < 0)
        continue;
}

/* slurmstepd makes a thread for each message. */
static void *serve(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20 && of_thread != LIFTED; i++) {
        wait_ms(LOOK_MS / 5);
        of_thread = sched_getscheduler((pid_t)syscall(SYS_gettid));
    }
    return NULL;
}

static void get_a_message(void)
{
    pthread_t thread;

    of_thread = -1;
    if (pthread_create(&thread, NULL, serve, NULL) == 0)
        pthread_join(thread, NULL);
}

/* A guest's output keeps slurmstepd busy. */
static void spend(void)
{
    struct timespec now;

    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < CREDIT);
    for (int i = 0; i < 20; i++) {
        of_spender = sched_getscheduler(0);
        if (of_spender != LIFTED)
            break;
        wait_ms(LOOK_MS / 5);
    }
}

static int first_pid(const char *group);

/* The kernel says so. */
static void show_system(void)
{
    if (test_exists("sys/fs/cgroup" SCOPE "/system") && first_pid("system") > 0)
        show_self("0::" SCOPE "/system");
}

static void run(const char *klass, void (*during)(pid_t), void (*ended)(void))
{
    host_step_t step = {.job_id = JOB,
                        .uid = test_user(),
                        .forked = during,
                        .running = show_system,
                        .ended = ended};

    test_record(JOB, klass, "none", false);
    host_step(&step);
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_eq(host_log_count("error:"), 0);
}

/* Into the root group, where it is as everything else is. */
static void has_left(void)
{
    char path[1024];
    FILE *file;
    int pid = 0;

    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/cgroup.procs", test_dir());
    file = fopen(path, "re");
    ck_assert(file != NULL);
    ck_assert_int_eq(fscanf(file, "%d", &pid), 1);
    fclose(file);
    ck_assert_int_eq(pid, getpid());
    ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
}

START_TEST(lifted_and_no_child_is)
{
    if (!root_and_realtime())
        return;
    load(2);
    run("guest", look_at_fork, NULL);
    ck_assert_int_eq(at_fork, LIFTED);
    ck_assert_int_ne(of_child, SCHED_FIFO);
    ck_assert_int_ne(of_child, LIFTED);
    has_left();
}
END_TEST

static void look_and_wait_for_message(pid_t pid)
{
    static int forked;

    look_at_fork(pid);
    /* The watching thread starts with the first task. */
    if (forked++ == 1)
        get_a_message();
}

START_TEST(new_threads_are)
{
    host_step_t step = {.job_id = JOB,
                        .uid = test_user(),
                        .tasks = 2,
                        .forked = look_and_wait_for_message};

    if (!root_and_realtime())
        return;
    load(2);
    test_record(JOB, "guest", "none", false);
    host_step(&step);
    ck_assert_int_eq(of_thread, LIFTED);
}
END_TEST

static void look_and_spend(pid_t pid)
{
    static int forked;

    look_at_fork(pid);
    if (forked++ == 1)
        spend();
}

START_TEST(not_for_long)
{
    host_step_t step = {
        .job_id = JOB, .uid = test_user(), .tasks = 2, .forked = look_and_spend};

    if (!root_and_realtime())
        return;
    load(2);
    test_record(JOB, "guest", "none", false);
    host_step(&step);
    ck_assert_int_eq(of_spender, SCHED_OTHER);
    has_left();
}
END_TEST

/* Another step of the job; the exit code says how its slurmstepd was scheduled. */
static int policy_of_next_step(uint32_t job_id)
{
    host_step_t step = {.job_id = job_id, .uid = test_user(), .forked = look_at_fork};
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        load(2);
        test_record(job_id, "guest", "none", false);
        host_step(&step);
        _exit(at_fork == LIFTED ? 0 : at_fork == SCHED_OTHER ? 1 : 2);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The job's account. */
static int64_t account_of(unsigned field)
{
    char path[1024];
    int64_t account[3] = {0};
    FILE *file;

    snprintf(path, sizeof(path), "%s/state/jobs/9.credit", test_dir());
    file = fopen(path, "re");
    ck_assert(file != NULL);
    ck_assert_int_eq(fread(account, sizeof(account), 1, file), 1);
    fclose(file);
    return account[field];
}

START_TEST(a_job_has_one_account)
{
    host_step_t step = {
        .job_id = JOB, .uid = test_user(), .tasks = 2, .forked = look_and_spend};

    if (!root_and_realtime())
        return;
    load(2);
    test_record(JOB, "guest", "none", false);
    ck_assert_int_eq(policy_of_next_step(JOB), 0);
    host_step(&step);
    ck_assert_int_eq(policy_of_next_step(JOB), 1);
}
END_TEST

/* Many short steps, none of which takes much. */
START_TEST(many_steps_use_it_up)
{
    int lifted = 0;

    if (!root_and_realtime())
        return;
    while (lifted < 100 && policy_of_next_step(JOB) == 0)
        lifted++;
    ck_assert_int_gt(lifted, 2);
    ck_assert_int_lt(lifted, 100);
    /* What it owes is earned within 50 s, or it would not hear of the job's end. */
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(policy_of_next_step(JOB), 1);
    ck_assert_int_le(account_of(0), 0);
    ck_assert_int_ge(account_of(0), -50000);
}
END_TEST

/* ---- an account that is as the test wants it ---- */

#define OWED    (-50000)
#define ALL_END 4000000 /* of what ends may take */

static void set_account(int64_t left, int64_t ended)
{
    char path[1024];
    struct timespec now;
    int64_t account[3];
    FILE *file;

    clock_gettime(CLOCK_BOOTTIME, &now);
    account[0] = left;
    account[1] = (int64_t)now.tv_sec * 1000000;
    account[2] = ended;
    test_write("state/jobs/.keep", "%s", "");
    snprintf(path, sizeof(path), "%s/state/jobs/9.credit", test_dir());
    file = fopen(path, "we");
    ck_assert(file && fwrite(account, sizeof(account), 1, file) == 1);
    fclose(file);
}

static bool lifted_at_end;

/* The task has ended; the thread looks every 2 s. */
static void watch_the_end(void)
{
    for (int i = 0; i < 1000 && !lifted_at_end; i++) {
        wait_ms(5);
        lifted_at_end = sched_getscheduler(0) == LIFTED;
    }
}

/* A process that traces a task may keep its step from ending, for as long as it likes.
 */
START_TEST(an_end_lifts_it_only_for_so_much)
{
    if (!root_and_realtime())
        return;
    load(2);
    set_account(OWED, _i ? ALL_END : 0);
    run("guest", look_at_fork, watch_the_end);
    ck_assert_int_eq(at_fork, SCHED_OTHER);
    ck_assert_int_eq(lifted_at_end, !_i);
}
END_TEST

static void spend_before_the_watch(pid_t pid)
{
    struct timespec now;

    look_at_fork(pid);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < CREDIT);
}

static void watch_main(void)
{
    show_system();
    for (int i = 0; i < 20; i++) {
        of_spender = sched_getscheduler(0);
        if (of_spender != LIFTED)
            break;
        wait_ms(LOOK_MS / 5);
    }
}

/* The main thread looks before there is another one that does. */
START_TEST(nor_does_main_keep_what_it_had)
{
    host_step_t step = {.job_id = JOB,
                        .uid = test_user(),
                        .forked = spend_before_the_watch,
                        .running = watch_main};

    if (!root_and_realtime())
        return;
    load(2);
    test_record(JOB, "guest", "none", false);
    host_step(&step);
    ck_assert_int_eq(at_fork, LIFTED);
    ck_assert_int_eq(of_spender, SCHED_OTHER);
}
END_TEST

/* ---- a mutex in memory that slurmstepd shares with its tasks ---- */

static pthread_mutex_t *shared;
static pid_t holder;
static pthread_t waiter;
static int of_holder, of_main;
static int64_t of_end;

/* Field 18 of stat: below 0 is real-time, whatever the policy. */
static int priority_of(pid_t pid)
{
    char path[64], text[1024];
    int priority = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    ck_assert(file && fgets(text, sizeof(text), file));
    fclose(file);
    ck_assert_int_eq(sscanf(strrchr(text, ')') + 1,
                            " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
                            "%*d %d",
                            &priority),
                     1);
    return priority;
}

static void __attribute__((noreturn)) hold_until_told(void)
{
    sigset_t term;
    int signal;

    pthread_mutex_lock(shared);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigwait(&term, &signal);
    pthread_mutex_unlock(shared);
    _exit(0);
}

/* The user's: it has made the mutex inherit priorities, and does not let it go. */
static void hold_mutex(void)
{
    pthread_mutexattr_t attributes;
    sigset_t term, old;

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    ck_assert_int_eq(pthread_mutex_init(shared, &attributes), 0);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &old);
    holder = fork();
    if (holder == 0)
        hold_until_told();
    sigprocmask(SIG_SETMASK, &old, NULL);
}

static void *wait_for_mutex(void *arg)
{
    pthread_mutex_lock(shared);
    pthread_mutex_unlock(shared);
    return arg;
}

/* In slurmstepd, the task lives. */
static void wait_for_the_user(void)
{
    show_system();
    ck_assert_int_eq(pthread_create(&waiter, NULL, wait_for_mutex, NULL), 0);
    for (int i = 0; i < 60 && of_main != SCHED_OTHER; i++) {
        wait_ms(LOOK_MS / 5);
        of_main = sched_getscheduler(0);
    }
    of_holder = priority_of(holder);
}

/* Who waits takes no time of its own: each lift for the end counts as long as it is. */
static void end_while_it_waits(void)
{
    for (int i = 0; i < 80 && account_of(2) < 80000; i++)
        wait_ms(LOOK_MS / 5);
    of_end = account_of(2);
    kill(holder, SIGTERM);
    pthread_join(waiter, NULL);
}

START_TEST(it_hands_its_priority_to_nobody)
{
    host_step_t step = {.job_id = JOB,
                        .uid = test_user(),
                        .forked = look_at_fork,
                        .running = wait_for_the_user,
                        .ended = end_while_it_waits};

    if (!root_and_realtime())
        return;
    of_main = -1;
    hold_mutex();
    load(2);
    test_record(JOB, "guest", "none", false);
    host_step(&step);
    waitpid(holder, NULL, 0);
    ck_assert_int_eq(at_fork, LIFTED);
    ck_assert_int_ge(of_holder, 0);
    ck_assert_int_eq(of_main, SCHED_OTHER);
    ck_assert_int_ge(of_end, 80000);
    ck_assert_int_eq(host_log_count("futex with priority inheritance"), 1);
}
END_TEST

/* A directory stands where its file should be. */
START_TEST(without_an_account_it_is_idle)
{
    if (!root_and_realtime())
        return;
    load(2);
    test_write("state/jobs/9.credit/.keep", "%s", "");
    run("guest", look_at_fork, NULL);
    ck_assert_int_eq(at_fork, SCHED_OTHER);
    ck_assert_int_eq(host_log_count("slurmstepd will be as idle as its guest until "),
                     1);
}
END_TEST

START_TEST(not_a_primary)
{
    if (!root_and_realtime())
        return;
    load(2);
    run("primary", look_at_fork, NULL);
    ck_assert_int_eq(at_fork, SCHED_OTHER);
}
END_TEST

/* v1, where Slurm's groups for accounting are not ours, and a slurmstepd that is
 * outside of the job. */
START_TEST(not_where_it_is_not_idle)
{
    if (!root_and_realtime())
        return;
    load(_i);
    show_self(_i == 1 ? "4:cpu,cpuacct:/slurm_n1/uid_1/job_9/step_0"
                      : "0::" SCOPE "/system");
    run("guest", look_at_fork, NULL);
    ck_assert_int_eq(at_fork, SCHED_OTHER);
}
END_TEST

/* ---- where it cannot be lifted ---- */

static int first_pid(const char *group)
{
    char path[1024];
    FILE *file;
    int pid = -1;

    snprintf(path, sizeof(path), "%s/sys/fs/cgroup" SCOPE "/%s/cgroup.procs",
             test_dir(), group);
    file = fopen(path, "re");
    ck_assert(file != NULL);
    if (fscanf(file, "%d", &pid) != 1)
        pid = -1;
    fclose(file);
    return pid;
}

static int moved_to, child_to;

/* As for a user's --task-epilog. */
static void fork_a_script(void)
{
    pid_t pid;

    moved_to = first_pid("system");
    pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    child_to = first_pid("job_9/step_0/slurm");
}

START_TEST(it_moves_and_its_children_go_back)
{
    if (getuid() != 0)
        return;
    load(2);
    test_write("sys/fs/cgroup" SCOPE "/system/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup" SCOPE "/job_9/step_0/slurm/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup" SCOPE "/job_9/cpu.stat", "usage_usec 7000000\n");
    test_give_up_realtime();
    run(_i ? "primary" : "guest", look_at_fork, fork_a_script);
    ck_assert_int_eq(test_exists("state/jobs/9.usage"), 1);
    ck_assert_int_eq(at_fork, SCHED_OTHER);
    ck_assert_int_eq(moved_to, _i ? -1 : getpid());
    ck_assert_int_eq(child_to, _i ? -1 : 0);
    ck_assert_int_eq(test_exists("state/jobs/9.undo"), !_i);
}
END_TEST

static void show_v1(pid_t pid)
{
    char name[64];

    snprintf(name, sizeof(name), "proc/%d/cgroup", (int)pid);
    test_write(name, "4:cpu,cpuacct:/hpcb_guest/job_9\n"
                     "5:freezer:/slurm/uid_1/job_9/step_0\n");
}

static void fork_a_script_v1(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    child_to = first_pid("../../hpcb_guest/job_9");
}

START_TEST(on_v1_its_children_are_guests)
{
    load(1);
    test_write("sys/fs/cgroup" SCOPE "/.keep", "%s", "");
    test_write("sys/fs/cgroup/hpcb_guest/job_9/cgroup.procs", "%s", "");
    run(_i ? "primary" : "guest", show_v1, fork_a_script_v1);
    ck_assert_int_eq(child_to, _i ? -1 : 0);
}
END_TEST

static int at_spending;
static char kept_up[2][16]; /* what the thread that looks has written: then and later */

static void read_tasks(char *text)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/slurm/job_9/tasks", test_dir());
    file = fopen(path, "re");
    ck_assert(file != NULL);
    text[fread(text, 1, 15, file)] = '\0';
    fclose(file);
}

static void spend_v1(pid_t pid)
{
    static int forked;
    struct timespec now;

    show_v1(pid);
    if (forked++ != 1)
        return;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < CREDIT);
    for (int i = 0; i < 20 && at_spending != getpid(); i++) {
        wait_ms(LOOK_MS / 5);
        at_spending = first_pid("../../hpcb_guest/guest_9");
    }
    wait_ms(LOOK_MS);
    read_tasks(kept_up[0]);
    test_write("sys/fs/cgroup/slurm/job_9/tasks", "%s", "");
    wait_ms(3 * LOOK_MS);
    read_tasks(kept_up[1]);
}

/* To the guests, in a group that it does not share with their tasks, and back to where
 * it was when the step ends.  The thread that looks stays behind: it says so once, in
 * the way that costs the kernel least. */
START_TEST(on_v1_it_follows_when_it_takes_much)
{
    host_step_t step = {
        .job_id = JOB, .uid = test_user(), .tasks = 2, .forked = spend_v1};

    load(1);
    test_write("proc/self/mountinfo", "%s",
               "30 22 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw,cpu,cpuacct\n"
               "31 22 0:27 / /sys/fs/freezer rw - cgroup cgroup rw,freezer\n");
    test_write("sys/fs/freezer/cgroup.procs", "%s", "");
    test_write("sys/fs/freezer/slurm/uid_1/job_9/step_0/cgroup.procs", "%s", "");
    show_self("4:cpu,cpuacct:/slurm/job_9");
    test_write("sys/fs/cgroup" SCOPE "/.keep", "%s", "");
    test_write("sys/fs/cgroup/slurm/job_9/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup/slurm/job_9/tasks", "%s", "");
    test_write("sys/fs/cgroup/hpcb_guest/job_9/cgroup.procs", "%s", "");
    test_write("sys/fs/cgroup/hpcb_guest/guest_9/cgroup.procs", "%s", "");
    test_record(JOB, "guest", "none", false);
    host_step(&step);
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_eq(first_pid("../../hpcb_guest/job_9"), -1);
    ck_assert_int_eq(at_spending, getpid());
    ck_assert_str_eq(kept_up[0], "0");
    ck_assert_str_eq(kept_up[1], "");
    ck_assert_int_eq(first_pid("../../slurm/job_9"), getpid());
}
END_TEST

/* A scope without the group: it stays, and all goes on. */
START_TEST(it_stays_where_it_cannot_move)
{
    if (getuid() != 0)
        return;
    load(2);
    test_write("sys/fs/cgroup" SCOPE "/job_9/step_0/slurm/cgroup.procs", "%s", "");
    test_give_up_realtime();
    run("guest", look_at_fork, NULL);
    ck_assert_int_eq(test_exists("sys/fs/cgroup" SCOPE "/system"), 0);
    ck_assert_int_eq(host_log_count("slurmstepd stays as it is: "), 1);
}
END_TEST

TCase *stepd_tests(void)
{
    TCase *tc = tcase_create("stepd");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, test_setup, test_teardown);
    tcase_add_test(tc, lifted_and_no_child_is);
    tcase_add_test(tc, new_threads_are);
    tcase_add_test(tc, not_for_long);
    tcase_add_test(tc, a_job_has_one_account);
    tcase_add_test(tc, many_steps_use_it_up);
    tcase_add_loop_test(tc, an_end_lifts_it_only_for_so_much, 0, 2);
    tcase_add_test(tc, nor_does_main_keep_what_it_had);
    tcase_add_test(tc, it_hands_its_priority_to_nobody);
    tcase_add_test(tc, without_an_account_it_is_idle);
    tcase_add_test(tc, not_a_primary);
    tcase_add_loop_test(tc, not_where_it_is_not_idle, 1, 3);
    tcase_add_loop_test(tc, it_moves_and_its_children_go_back, 0, 2);
    tcase_add_test(tc, it_stays_where_it_cannot_move);
    tcase_add_loop_test(tc, on_v1_its_children_are_guests, 0, 2);
    tcase_add_test(tc, on_v1_it_follows_when_it_takes_much);
    return tc;
}
