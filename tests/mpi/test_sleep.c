/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "mpi/sleep.h"

#define MS 1000000ULL

#define EPOLL_PWAIT2 441 /* in all ABIs; headers may be older */

/* A sleep that is to be ended early, and when it must have ended on a busy machine. */
#define LONG_NS  (1000 * MS)
#define EARLY_NS (600 * MS)

#define FILES 1024 /* the numbers of all files of this program are below */

static int here = -1, there = -1;

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static bool sleeps_to_the_end(uint64_t ns, uint64_t now)
{
    return hpcb_sleep(ns, now) == HPCB_SLEEP_TO_THE_END;
}

/* Make a sleep believe that it is time to look for connections. */
static void look_again(void)
{
    static uint64_t ahead;

    ahead += 1000000 * MS;
    hpcb_sleep(1, clock_ns() + ahead);
}

static void connect_both(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_ge(listener, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    here = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(here, (struct sockaddr *)&address, size), 0);
    there = accept(listener, NULL, NULL);
    ck_assert_int_ge(there, 0);
    look_again();
}

static void *write_soon(void *fd)
{
    struct timespec soon = {0, 30 * MS};

    nanosleep(&soon, NULL);
    ck_assert_int_eq(write(*(int *)fd, "x", 1), 1);
    return NULL;
}

/* How long a sleep of ns takes while a byte is written to fd soon after its begin. */
static uint64_t sleep_while_writing(int *fd, uint64_t ns, hpcb_sleep_end_t *end)
{
    uint64_t began = clock_ns();
    pthread_t writer;

    ck_assert_int_eq(pthread_create(&writer, NULL, write_soon, fd), 0);
    *end = hpcb_sleep(ns, began);
    began = clock_ns() - began;
    pthread_join(writer, NULL);
    return began;
}

START_TEST(test_without_connections)
{
    uint64_t began = clock_ns();

    ck_assert(sleeps_to_the_end(20 * MS, began));
    ck_assert_uint_ge(clock_ns() - began, 20 * MS);
    ck_assert(sleeps_to_the_end(0, began));
}
END_TEST

START_TEST(test_message_ends_sleep)
{
    hpcb_sleep_end_t end;

    connect_both();
    ck_assert_uint_lt(sleep_while_writing(&there, LONG_NS, &end), EARLY_NS);
    ck_assert_int_eq(end, HPCB_SLEEP_WOKEN);
}
END_TEST

START_TEST(test_unread_message_ends_one_sleep)
{
    hpcb_sleep_end_t end;

    connect_both();
    sleep_while_writing(&there, LONG_NS, &end);
    ck_assert(sleeps_to_the_end(20 * MS, clock_ns()));
    ck_assert(sleeps_to_the_end(20 * MS, clock_ns()));
    ck_assert_uint_lt(sleep_while_writing(&there, LONG_NS, &end), EARLY_NS);
    ck_assert_int_eq(end, HPCB_SLEEP_WOKEN);
}
END_TEST

/* Read by others while we do not sleep: no reason to wake up. */
START_TEST(test_read_message_ends_no_sleep)
{
    char byte;

    connect_both();
    ck_assert(sleeps_to_the_end(MS, clock_ns()));
    ck_assert_int_eq(write(there, "x", 1), 1);
    ck_assert_int_eq(read(here, &byte, 1), 1);
    ck_assert(sleeps_to_the_end(20 * MS, clock_ns()));
}
END_TEST

static void *read_soon(void *fd)
{
    struct timespec soon = {0, 30 * MS};
    char bytes[65536];

    nanosleep(&soon, NULL);
    while (recv(*(int *)fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
    return NULL;
}

/* The rest of a long message can be written now. */
START_TEST(test_room_ends_sleep)
{
    static const char bytes[65536];
    uint64_t began;
    pthread_t reader;

    connect_both();
    /* The kernel makes buffers larger as they fill. */
    do {
        while (send(here, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
            continue;
    } while (!sleeps_to_the_end(20 * MS, clock_ns()));
    ck_assert_int_eq(pthread_create(&reader, NULL, read_soon, &there), 0);
    began = clock_ns();
    ck_assert_int_eq(hpcb_sleep(LONG_NS, began), HPCB_SLEEP_WOKEN);
    ck_assert_uint_lt(clock_ns() - began, EARLY_NS);
    pthread_join(reader, NULL);
    /* That there still is room ends none. */
    hpcb_sleep(20 * MS, clock_ns());
    ck_assert(sleeps_to_the_end(20 * MS, clock_ns()));
}
END_TEST

START_TEST(test_other_files_end_no_sleep)
{
    hpcb_sleep_end_t end;
    int pair[2], ends[2];

    connect_both();
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(pipe(ends), 0);
    sleep_while_writing(&pair[0], 60 * MS, &end);
    ck_assert_int_eq(end, HPCB_SLEEP_TO_THE_END);
    sleep_while_writing(&ends[1], 60 * MS, &end);
    ck_assert_int_eq(end, HPCB_SLEEP_TO_THE_END);
}
END_TEST

START_TEST(test_connection_made_later)
{
    hpcb_sleep_end_t end;

    connect_both();
    ck_assert(sleeps_to_the_end(MS, clock_ns()));
    connect_both();
    ck_assert_uint_lt(sleep_while_writing(&there, LONG_NS, &end), EARLY_NS);
    ck_assert_int_eq(end, HPCB_SLEEP_WOKEN);
}
END_TEST

/* Until it is time to look for connections again. */
START_TEST(test_unwatched_message_ends_no_sleep)
{
    hpcb_sleep_end_t end;

    connect_both();
    ck_assert(sleeps_to_the_end(MS, clock_ns()));
    hpcb_sleep_unwatch();
    hpcb_sleep_unwatch();
    sleep_while_writing(&there, 60 * MS, &end);
    ck_assert_int_eq(end, HPCB_SLEEP_TO_THE_END);
    look_again();
    ck_assert_uint_lt(sleep_while_writing(&there, LONG_NS, &end), EARLY_NS);
    ck_assert_int_eq(end, HPCB_SLEEP_WOKEN);
}
END_TEST

static void *end_soon(void *unused)
{
    struct timespec soon = {0, 30 * MS};

    nanosleep(&soon, NULL);
    hpcb_sleep_end_one();
    return unused;
}

/* Again and again: the eventfd is never read. */
START_TEST(test_another_thread_ends_sleeps)
{
    pthread_t thread;
    uint64_t began;

    hpcb_sleep_can_be_ended();
    hpcb_sleep(MS, clock_ns());
    for (int i = 0; i < 3; i++) {
        began = clock_ns();
        ck_assert_int_eq(pthread_create(&thread, NULL, end_soon, NULL), 0);
        ck_assert_int_eq(hpcb_sleep(LONG_NS, began), HPCB_SLEEP_STIRRED);
        ck_assert_uint_lt(clock_ns() - began, EARLY_NS);
        pthread_join(thread, NULL);
        ck_assert(sleeps_to_the_end(20 * MS, clock_ns()));
    }
}
END_TEST

/* Of what has come, a message counts for more. */
START_TEST(test_message_and_thread_end_sleep)
{
    hpcb_sleep_can_be_ended();
    connect_both();
    hpcb_sleep(MS, clock_ns());
    hpcb_sleep_end_one();
    ck_assert_int_eq(write(there, "x", 1), 1);
    ck_assert_int_eq(hpcb_sleep(LONG_NS, clock_ns()), HPCB_SLEEP_WOKEN);
}
END_TEST

static void ignore(int number)
{
    (void)number;
}

static atomic_bool signalled_enough;

/* More than one: on a busy machine the first may come before the sleep. */
static void *send_signals(void *thread)
{
    struct timespec soon = {0, 30 * MS};

    while (!atomic_load(&signalled_enough)) {
        nanosleep(&soon, NULL);
        ck_assert_int_eq(pthread_kill(*(pthread_t *)thread, SIGUSR1), 0);
    }
    return NULL;
}

/* With a connection to watch, and without. */
START_TEST(test_signal_ends_sleep)
{
    struct sigaction action = {.sa_handler = ignore};
    pthread_t self = pthread_self(), thread;
    uint64_t began;

    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    atomic_store(&signalled_enough, false);
    if (_i == 1)
        connect_both();
    began = clock_ns();
    ck_assert_int_eq(pthread_create(&thread, NULL, send_signals, &self), 0);
    ck_assert_int_eq(hpcb_sleep(LONG_NS, began), HPCB_SLEEP_STIRRED);
    ck_assert_uint_lt(clock_ns() - began, EARLY_NS);
    atomic_store(&signalled_enough, true);
    pthread_join(thread, NULL);
}
END_TEST

#define SLACK_NS 70000

static int slack_in_sleep;
static sigjmp_buf out_of_sleep;
static bool jumps;

static void note_slack(int number)
{
    (void)number;
    slack_in_sleep = prctl(PR_GET_TIMERSLACK);
    if (jumps)
        siglongjmp(out_of_sleep, 1);
}

/* A sleep that a signal's handler looks into, or leaves. */
static void sleep_with_signal(void)
{
    struct sigaction action = {.sa_handler = note_slack};
    static pthread_t self, thread; /* stay what they are after a jump */

    self = pthread_self();
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    slack_in_sleep = 0;
    atomic_store(&signalled_enough, false);
    if (sigsetjmp(out_of_sleep, 1) == 0) {
        ck_assert_int_eq(pthread_create(&thread, NULL, send_signals, &self), 0);
        for (int i = 0; i < 5 && slack_in_sleep != 1; i++)
            hpcb_sleep(LONG_NS, clock_ns());
    }
    action.sa_handler = ignore;
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    atomic_store(&signalled_enough, true);
    pthread_join(thread, NULL);
}

/* With the usual slack sleeps end late, without any the program's own timers cost more.
 */
START_TEST(test_slack_is_small_in_sleeps_only)
{
    ck_assert_int_eq(prctl(PR_SET_TIMERSLACK, SLACK_NS), 0);
    sleep_with_signal();
    ck_assert_int_eq(slack_in_sleep, 1);
    ck_assert_int_eq(prctl(PR_GET_TIMERSLACK), SLACK_NS);
    /* The program may change it. */
    ck_assert_int_eq(prctl(PR_SET_TIMERSLACK, 2 * SLACK_NS), 0);
    hpcb_sleep(MS, clock_ns());
    ck_assert_int_eq(prctl(PR_GET_TIMERSLACK), 2 * SLACK_NS);
    ck_assert_int_eq(prctl(PR_SET_TIMERSLACK, 1), 0);
    hpcb_sleep(MS, clock_ns());
    ck_assert_int_eq(prctl(PR_GET_TIMERSLACK), 1);
}
END_TEST

/* The next sleep puts it back. */
START_TEST(test_slack_after_a_sleep_that_was_left)
{
    ck_assert_int_eq(prctl(PR_SET_TIMERSLACK, SLACK_NS), 0);
    jumps = true;
    sleep_with_signal();
    jumps = false;
    hpcb_sleep(MS, clock_ns());
    ck_assert_int_eq(prctl(PR_GET_TIMERSLACK), SLACK_NS);
}
END_TEST

/* Its number may be that of the user's data by then. */
START_TEST(test_closed_eventfd_is_not_written)
{
    char path[] = "/tmp/test_sleep.XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    unlink(path);
    hpcb_sleep_can_be_ended();
    for (int number = fd + 1; number < FILES; number++)
        dup2(fd, number);
    hpcb_sleep_end_one();
    ck_assert_int_eq(lseek(fd, 0, SEEK_END), 0);
    ck_assert(sleeps_to_the_end(MS, clock_ns()));
}
END_TEST

/* As programs do that turn themselves into daemons. */
START_TEST(test_all_files_closed)
{
    uint64_t began;

    connect_both();
    hpcb_sleep(MS, clock_ns());
    for (int fd = there + 1; fd < FILES; fd++)
        close(fd);
    began = clock_ns();
    ck_assert(sleeps_to_the_end(20 * MS, began));
    ck_assert_uint_ge(clock_ns() - began, 20 * MS);
}
END_TEST

/* Make epoll_pwait2 fail with error from now on. */
static bool forbid_epoll_pwait2(uint32_t error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EPOLL_PWAIT2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* What came once ends one sleep, of a message and of a thread. */
static bool sleeps_end_as_they_should(void)
{
    hpcb_sleep_end_t end;
    pthread_t thread;
    uint64_t took;

    hpcb_sleep_can_be_ended();
    connect_both();
    took = sleep_while_writing(&there, LONG_NS, &end);
    if (took >= EARLY_NS || end != HPCB_SLEEP_WOKEN ||
        !sleeps_to_the_end(20 * MS, clock_ns()))
        return false;
    ck_assert_int_eq(pthread_create(&thread, NULL, end_soon, NULL), 0);
    end = hpcb_sleep(LONG_NS, clock_ns());
    pthread_join(thread, NULL);
    return end == HPCB_SLEEP_STIRRED && sleeps_to_the_end(20 * MS, clock_ns());
}

/* Linux before 5.11, and a sandbox that knows no newer one. */
START_TEST(test_kernel_without_epoll_pwait2)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        if (!forbid_epoll_pwait2(_i == 0 ? ENOSYS : EPERM))
            _exit(EXIT_SUCCESS); /* cannot be tried here */
        _exit(sleeps_end_as_they_should() ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    /* If Check does not fork, the child had the watched files of other tests. */
    hpcb_sleep(MS, clock_ns());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sleep");
    TCase *tcase = tcase_create("sleep");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, test_without_connections);
    tcase_add_test(tcase, test_read_message_ends_no_sleep);
    tcase_add_test(tcase, test_other_files_end_no_sleep);
    tcase_add_test(tcase, test_message_ends_sleep);
    tcase_add_test(tcase, test_unread_message_ends_one_sleep);
    tcase_add_test(tcase, test_room_ends_sleep);
    tcase_add_test(tcase, test_connection_made_later);
    tcase_add_test(tcase, test_unwatched_message_ends_no_sleep);
    tcase_add_test(tcase, test_another_thread_ends_sleeps);
    tcase_add_test(tcase, test_message_and_thread_end_sleep);
    tcase_add_loop_test(tcase, test_kernel_without_epoll_pwait2, 0, 2);
    tcase_add_loop_test(tcase, test_signal_ends_sleep, 0, 2);
    tcase_add_test(tcase, test_slack_is_small_in_sleeps_only);
    tcase_add_test(tcase, test_slack_after_a_sleep_that_was_left);
    tcase_add_test(tcase, test_all_files_closed);
    tcase_add_test(tcase, test_closed_eventfd_is_not_written);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
