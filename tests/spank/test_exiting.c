/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What cgroup/exiting.c lifts while ids change hands: a thread that calls execve takes
 * over the id of its leader, and a new process may get the id of an old one.  Both are
 * made to happen where they hurt most, between the look and sched_setscheduler, which
 * this program defines itself; where SCHED_FIFO is not permitted it sets SCHED_BATCH.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/task.h"
#include "cgroup/life.h"
#include "cgroup/exiting.h"
#include "tests/common/tmp.h"
#include "tests/spank/ending.h"

#define TRIES  600
#define LIFTED (SCHED_FIFO | SCHED_RESET_ON_FORK)

static char dir[TEST_TMP_MAX];
static bool instead; /* SCHED_BATCH stands for SCHED_FIFO */
static void (*before_set)(void), (*after_set)(void);
static unsigned sets; /* to a real-time policy */

static int real_set(pid_t pid, int policy, const struct sched_param *param)
{
    return (int)syscall(SYS_sched_setscheduler, pid, policy, param);
}

static int other_policy(int policy, int from, int to)
{
    int flag = policy & SCHED_RESET_ON_FORK;

    return instead && (policy & ~SCHED_RESET_ON_FORK) == from ? to | flag : policy;
}

int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
    struct sched_param used = *param;
    bool raises = (policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO;
    int rc;

    if (raises) {
        sets++;
        if (before_set)
            before_set();
        if (instead)
            used.sched_priority = 0;
    }
    rc = real_set(pid, other_policy(policy, SCHED_FIFO, SCHED_BATCH), &used);
    if (raises && after_set)
        after_set();
    return rc;
}

int sched_getscheduler(pid_t pid)
{
    int policy = (int)syscall(SYS_sched_getscheduler, pid);

    return policy < 0 ? -1 : other_policy(policy, SCHED_BATCH, SCHED_FIFO);
}

static void set_up(void)
{
    const struct sched_param lowest = {.sched_priority = 1}, none = {0};

    test_tmp_dir(dir);
    instead = real_set(0, SCHED_FIFO, &lowest) < 0;
    ck_assert_int_eq(real_set(0, SCHED_OTHER, &none), 0);
    before_set = after_set = NULL;
    sets = 0;
}

static void tear_down(void)
{
    char command[TEST_TMP_MAX + 16];

    snprintf(command, sizeof(command), "rm -r %s", dir);
    ck_assert_int_eq(system(command), 0);
}

static void in_group(pid_t pid)
{
    char path[TEST_TMP_MAX + 16];
    FILE *file;

    snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%d\n", (int)pid);
    fclose(file);
}

static void lift(void)
{
    ck_assert_int_eq(hpcb_exiting_lift(dir, ""), 0);
}

/* An exiting process in the group, or -1 with a line. */
static pid_t exiting(void)
{
    pid_t pid = ending_begin();

    if (pid < 0)
        fprintf(stderr, "# skipped: no PID namespace here\n");
    else
        in_group(pid);
    return pid;
}

START_TEST(exiting_process_is_lifted)
{
    pid_t pid = exiting();

    if (pid < 0)
        return;
    ck_assert_int_eq(hpcb_life(pid), HPCB_EXITING);
    lift();
    ck_assert_int_eq(sched_getscheduler(pid), LIFTED);
    hpcb_exiting_lower(dir, false, 0);
    ck_assert_int_eq(sched_getscheduler(pid), LIFTED);
    hpcb_exiting_lower(dir, true, 0);
    ck_assert_int_eq(sched_getscheduler(pid), SCHED_OTHER);
    ending_end();
}
END_TEST

/* There is nothing left of it to run; who traces it may keep it so for ever. */
START_TEST(zombie_is_gone)
{
    pid_t pid = ending_zombie();

    in_group(pid);
    ck_assert_int_eq(hpcb_life(pid), HPCB_GONE);
    lift();
    ck_assert_uint_eq(sets, 0);
    ck_assert(hpcb_exiting_all(dir));
    waitpid(pid, NULL, 0);
}
END_TEST

/* Another program than this one, which stands for slurmstepd. */
static pid_t live(void)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execlp("sleep", "sleep", "100", (char *)NULL);
    _exit(1);
}

START_TEST(living_process_is_not)
{
    const struct sched_param lowest = {.sched_priority = 1};
    pid_t pid = live();

    in_group(pid);
    while (!hpcb_task_begun(pid))
        usleep(1000);
    lift();
    ck_assert_uint_eq(sets, 0);
    ck_assert_int_eq(sched_setscheduler(pid, LIFTED, &lowest), 0);
    hpcb_exiting_lower(dir, false, 0);
    ck_assert_int_eq(sched_getscheduler(pid), SCHED_OTHER);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
END_TEST

/* ---- a leader that ends, and a second thread that calls execve ---- */

static int go[2], done[2];
static bool at_once;

static void *replace(void *unused)
{
    char byte;

    if (at_once || read(go[0], &byte, 1) == 1)
        execl("/bin/sh", "sh", "-c", "echo; read line", (char *)NULL);
    (void)unused;
    _exit(1);
}

/* Its shell tells when it runs, and waits until go is closed. */
static pid_t heir(void)
{
    pthread_t thread;
    pid_t pid;

    ck_assert(pipe(go) == 0 && pipe(done) == 0);
    pid = fork();
    if (pid != 0) {
        close(go[0]);
        close(done[1]);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(go[1]);
    dup2(go[0], STDIN_FILENO);
    dup2(done[1], STDOUT_FILENO);
    close(done[1]);
    if (pthread_create(&thread, NULL, replace, NULL) != 0)
        _exit(1);
    pthread_exit(NULL);
}

static void wait_for_shell(void)
{
    char byte;

    ck_assert_int_eq(read(done[0], &byte, 1), 1);
}

static void end_heir(pid_t pid)
{
    close(go[1]);
    close(done[0]);
    waitpid(pid, NULL, 0);
}

static void let_it_replace(void)
{
    before_set = NULL;
    ck_assert_int_eq(write(go[1], "x", 1), 1);
    wait_for_shell();
}

static void wait_for_death_of_leader(pid_t pid)
{
    char path[64], text[256];
    bool gone = false;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (!gone) {
        FILE *file = fopen(path, "re");

        ck_assert(file && fgets(text, sizeof(text), file));
        gone = strstr(text, ") Z ") != NULL;
        fclose(file);
        usleep(1000);
    }
}

START_TEST(leader_alone_says_nothing)
{
    pid_t pid;

    at_once = false;
    pid = heir();
    in_group(pid);
    wait_for_death_of_leader(pid);
    before_set = let_it_replace;
    lift();
    if (before_set)
        let_it_replace();
    ck_assert_int_eq(sched_getscheduler(pid), SCHED_OTHER);
    ck_assert_uint_eq(sets, 0);
    end_heir(pid);
}
END_TEST

static void *lift_on(void *stop)
{
    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
        (void)hpcb_exiting_lift(dir, "");
    return NULL;
}

/* The same left to chance. */
START_TEST(nor_in_a_race)
{
    unsigned inherited = 0;

    at_once = true;
    for (int i = 0; i < TRIES; i++) {
        pid_t pid = heir();
        bool stop = false;
        pthread_t thread;

        in_group(pid);
        ck_assert_int_eq(pthread_create(&thread, NULL, lift_on, &stop), 0);
        wait_for_shell();
        inherited += sched_getscheduler(pid) != SCHED_OTHER;
        __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
        pthread_join(thread, NULL);
        end_heir(pid);
    }
    ck_assert_uint_eq(inherited, 0);
    ck_assert_uint_eq(sets, 0);
}
END_TEST

/* ---- an id that goes to a new process ---- */

static pid_t renewed;
static bool can_renew;

static void renew(void)
{
    pid_t wanted = renewed;
    struct clone_args args = {.exit_signal = SIGCHLD,
                              .set_tid = (uint64_t)(uintptr_t)&wanted,
                              .set_tid_size = 1};
    long pid;

    before_set = NULL;
    usleep(30000); /* a start time has 10 ms */
    ending_end();
    pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0) {
        for (;;)
            pause();
    }
    can_renew = pid == renewed;
}

START_TEST(another_process_is_let_down)
{
    renewed = exiting();
    if (renewed < 0)
        return;
    before_set = renew;
    lift();
    ck_assert_uint_eq(sets, 1);
    if (!can_renew) {
        fprintf(stderr, "# skipped: clone3 with set_tid: %s\n", strerror(errno));
        return;
    }
    ck_assert_int_eq(sched_getscheduler(renewed), SCHED_OTHER);
    kill(renewed, SIGKILL);
    waitpid(renewed, NULL, 0);
}
END_TEST

/* ---- a killed thread in the queue of a futex with priority inheritance ---- */

#define HOG_CPU   0
#define OWNER_CPU 1

/* Long enough for a look at the group, short enough to be seen by nobody else. */
#define HOG_MS 300
#define HOGS   20

static void bind_to(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(set), &set), 0);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* So that nothing below its priority runs on that CPU, for HOG_MS. */
static pid_t hog(void)
{
    const struct sched_param high = {.sched_priority = 50};
    int64_t end = now_ms() + HOG_MS;
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    bind_to(HOG_CPU);
    (void)real_set(0, SCHED_FIFO, &high);
    while (now_ms() < end)
        continue;
    _exit(0);
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

/* Locks the mutex and sleeps; the next one waits for it. */
static pid_t locker(pthread_mutex_t *mutex, int cpu)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bind_to(cpu);
    pthread_mutex_lock(mutex);
    for (;;)
        pause();
}

/* Field 18 of stat: below 0 is real-time, whatever the policy. */
static long priority_of(pid_t pid, char *state)
{
    char path[64], text[1024];
    long priority = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    ck_assert(file && fgets(text, sizeof(text), file));
    fclose(file);
    ck_assert_int_eq(sscanf(strrchr(text, ')') + 1,
                            " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
                            "%*d %ld",
                            state, &priority),
                     2);
    return priority;
}

static void wait_for_sleep(pid_t pid)
{
    char state;

    do {
        usleep(1000);
        (void)priority_of(pid, &state);
    } while (state != 'S');
}

static pid_t owner;
static bool owner_was_boosted;

/* The waiter is SCHED_FIFO now, and its CPU is not to be had. */
static void look_at_owner(void)
{
    char state;

    owner_was_boosted |= priority_of(owner, &state) < 0;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* A killed waiter that cannot run is lifted and lowered again. */
static void lift_a_waiter(void)
{
    pthread_mutex_t *mutex = inheriting_mutex();
    pid_t waiter, hogging;
    char state;

    owner = locker(mutex, OWNER_CPU);
    wait_for_sleep(owner);
    waiter = locker(mutex, HOG_CPU);
    wait_for_sleep(waiter);
    in_group(waiter);
    hogging = hog();
    usleep(5000);
    ck_assert_int_eq(kill(waiter, SIGKILL), 0);
    lift();
    ck_assert_int_ge(priority_of(owner, &state), 0);
    waitpid(hogging, NULL, 0);
    end(waiter);
    end(owner);
    munmap(mutex, sizeof(*mutex));
}

START_TEST(owner_of_its_futex_is_not_left_boosted)
{
    if (instead || sysconf(_SC_NPROCESSORS_ONLN) <= OWNER_CPU) {
        fprintf(stderr, "# skipped: needs SCHED_FIFO and two CPUs\n");
        return;
    }
    bind_to(OWNER_CPU);
    after_set = look_at_owner;
    /* On a busy machine the hog may be gone before the look. */
    for (int i = 0; i < HOGS && !owner_was_boosted; i++)
        lift_a_waiter();
    ck_assert(owner_was_boosted);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exiting");
    TCase *tcase = tcase_create("exiting");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, exiting_process_is_lifted);
    tcase_add_test(tcase, living_process_is_not);
    tcase_add_test(tcase, leader_alone_says_nothing);
    tcase_add_test(tcase, nor_in_a_race);
    tcase_add_test(tcase, another_process_is_let_down);
    tcase_add_test(tcase, zombie_is_gone);
    tcase_add_test(tcase, owner_of_its_futex_is_not_left_boosted);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
