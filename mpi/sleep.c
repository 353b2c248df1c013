/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * An MPI over TCP receives its messages through sockets, and the kernel wakes threads
 * that wait for them, so that a sleep delays nothing.  It is unknown which sockets
 * belong to the MPI, so all TCP connections of the process are watched, edge-triggered:
 * data for others, which are not read, wake a sleeper once and not again.  So does a
 * full connection that accepts data again, because the other rank waits for the rest of
 * a long message.  That is watched by a nested epoll instance of its own: in one for
 * both, each message that was read would count as space for writing.  Nothing is read
 * or changed here.  Without such connections (shared memory, InfiniBand) a sleep just
 * takes its time.
 *
 * epoll_pwait2, which takes nanoseconds, exists since Linux 5.11.  Before that, and if
 * a sandbox forbids it, ppoll waits for the epoll instance.
 *
 * Other threads end a sleep through a watched eventfd.  It is always ready for writing,
 * edge-triggered as well, and adding it again causes an event.  It is never written,
 * because the program may have closed all unknown files (closefrom), and its number may
 * be that of a user's file by then.
 */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "mpi/sleep.h"

#define NS_PER_S 1000000000ULL

/* Connections are established when ranks first communicate: search for new ones at this
 * interval (ns), and seldom enough to use less than a thousandth of the time. */
#define LOOK_AFTER_NS 100000000ULL
#define LOOK_SHARE    1000
#define EVENTS        16

/* Bytes of a directory's entries that are read at a time. */
#define DIRECTORY_PART 1024

/* Files of this library have numbers from here on: if the program closes them, it will
 * hardly open as many that one of its own comes in the place of one of these. */
#define FIRST_FILE 500

#define NEVER UINT64_MAX

/* Data of events by other threads; those of connections have 0. */
#define ENDER 1

/* Headers may be older than the kernel; all ABIs of today have the same number. */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* The epoll instances, of all that ends a sleep and of connections that may be written
 * to; -1: none yet, or none any more. */
static atomic_int watcher = -1;
static atomic_int writable = -1;
static atomic_int ender = -1;    /* the eventfd; -1: none */
static atomic_bool watches;      /* connections */
static _Atomic uint64_t look_at; /* next search for connections; NEVER: given up */
static atomic_flag looking = ATOMIC_FLAG_INIT;

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool option_is(int fd, int option, int expected)
{
    int value = -1;
    socklen_t size = sizeof value;

    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == expected;
}

static bool is_connection(int fd)
{
    return option_is(fd, SO_TYPE, SOCK_STREAM) && option_is(fd, SO_ACCEPTCONN, 0) &&
           (option_is(fd, SO_DOMAIN, AF_INET) || option_is(fd, SO_DOMAIN, AF_INET6));
}

/* The kernel forgets what is closed. */
static void begin_to_watch(int fd)
{
    struct epoll_event in = {.events = EPOLLIN | EPOLLET};
    struct epoll_event out = {.events = EPOLLOUT | EPOLLET};

    if (epoll_ctl(atomic_load(&watcher), EPOLL_CTL_ADD, fd, &in) == 0)
        atomic_store(&watches, true);
    epoll_ctl(atomic_load(&writable), EPOLL_CTL_ADD, fd, &out);
}

static void stop_to_watch(int fd)
{
    epoll_ctl(atomic_load(&watcher), EPOLL_CTL_DEL, fd, NULL);
    epoll_ctl(atomic_load(&writable), EPOLL_CTL_DEL, fd, NULL);
}

/* Through syscall(2), as all that follows: the C library's functions are cancellation
 * points, and MPI calls are none; nor should memory be allocated in a wait. */
static void for_connections(void (*act)(int fd))
{
    long dir = syscall(SYS_openat, AT_FDCWD, "/proc/self/fd",
                       O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    _Alignas(struct dirent64) char entries[DIRECTORY_PART];
    long size;

    if (dir < 0)
        return;
    while ((size = syscall(SYS_getdents64, dir, entries, sizeof entries)) > 0)
        for (long at = 0; at < size;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            int fd = atoi(entry->d_name);

            if (fd > 0 && is_connection(fd))
                act(fd);
            at += entry->d_reclen;
        }
    syscall(SYS_close, dir);
}

static void give_up(void)
{
    atomic_store(&watches, false);
    atomic_store(&ender, -1);
    atomic_store(&look_at, NEVER);
}

/* fd under a high number, if there may be one. */
static int out_of_the_way(int fd)
{
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FILE);

    if (high < 0)
        return fd;
    syscall(SYS_close, fd);
    return high;
}

static int make_epoll(void)
{
    return out_of_the_way(epoll_create1(EPOLL_CLOEXEC));
}

/* The watcher, made if need be; -1: cannot be. */
static int make_watcher(void)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    int epoll = atomic_load(&watcher);

    if (epoll >= 0)
        return epoll;
    epoll = make_epoll();
    atomic_store(&writable, make_epoll());
    epoll_ctl(epoll, EPOLL_CTL_ADD, atomic_load(&writable), &event);
    atomic_store(&watcher, epoll);
    return epoll;
}

static void look_for_connections(uint64_t now)
{
    uint64_t began = clock_ns();

    if (atomic_flag_test_and_set(&looking))
        return;
    if (make_watcher() >= 0) {
        for_connections(begin_to_watch);
        atomic_store(&look_at, now + LOOK_AFTER_NS + LOOK_SHARE * (clock_ns() - began));
    } else {
        give_up();
    }
    atomic_flag_clear(&looking);
}

static hpcb_sleep_end_t plain_sleep(const struct timespec *time)
{
    if (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, time, NULL) == 0)
        return HPCB_SLEEP_TO_THE_END;
    return HPCB_SLEEP_STIRRED;
}

/* No event at all: a signal. */
static hpcb_sleep_end_t end_by(const struct epoll_event *events, long count)
{
    for (long i = 0; i < count; i++)
        if (events[i].data.u32 != ENDER)
            return HPCB_SLEEP_WOKEN;
    return HPCB_SLEEP_STIRRED;
}

/* There is no epoll_pwait2 here. */
static atomic_bool is_old;

/* As epoll_pwait2 does.  poll(2) only says that there is something: to fetch it is what
 * makes it old, so that the next sleep does not end at once. */
static long wait_as_before(int epoll, struct epoll_event *events,
                           const struct timespec *time)
{
    struct pollfd watched = {.fd = epoll, .events = POLLIN};
    struct timespec left = *time; /* the kernel writes to it */
    long count = syscall(SYS_ppoll, &watched, 1, &left, NULL, 0);

    if (count <= 0)
        return count;
    count = syscall(SYS_epoll_pwait, epoll, events, EVENTS, 0, NULL, 0);
    if (count != 0)
        return count;
    /* Another thread was quicker. */
    errno = EINTR;
    return -1;
}

/* Return the number of events; -1 with EINTR: a signal or another thread came in
 * between, else: epoll is none. */
static long wait_for_events(int epoll, struct epoll_event *events,
                            const struct timespec *time)
{
    if (!atomic_load_explicit(&is_old, memory_order_relaxed)) {
        long count = syscall(SYS_epoll_pwait2, epoll, events, EVENTS, time, NULL, 0);

        if (count >= 0 || (errno != ENOSYS && errno != EPERM))
            return count;
        atomic_store(&is_old, true);
    }
    return wait_as_before(epoll, events, time);
}

static hpcb_sleep_end_t sleep_or_wake(uint64_t ns, uint64_t now_ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / NS_PER_S),
                            .tv_nsec = (long)(ns % NS_PER_S)};
    struct epoll_event events[EVENTS];
    long count;

    if (now_ns >= atomic_load(&look_at))
        look_for_connections(now_ns);
    if (!atomic_load(&watches) && atomic_load(&ender) < 0)
        return plain_sleep(&time);
    count = wait_for_events(atomic_load(&watcher), events, &time);
    if (count == 0)
        return HPCB_SLEEP_TO_THE_END;
    if (count > 0 || errno == EINTR)
        return end_by(events, count);
    /* The program has closed what it did not know. */
    give_up();
    return plain_sleep(&time);
}

/* The timer slack (ns) that the thread is to have after its sleep, 0: none is to be
 * set. It is still there if a signal's handler left the last sleep. */
static _Thread_local int slack;

/* The kernel ends a sleep late by up to the thread's timer slack: 50 us by default.
 * Threads of real-time classes have none; one that does not fit an int is left alone.
 */
static void lower_slack(void)
{
    int now = prctl(PR_GET_TIMERSLACK);

    if (now <= 1)
        return;
    slack = now;
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

static void put_slack_back(void)
{
    if (slack > 0)
        prctl(PR_SET_TIMERSLACK, (unsigned long)slack, 0UL, 0UL, 0UL);
    slack = 0;
}

hpcb_sleep_end_t hpcb_sleep(uint64_t ns, uint64_t now_ns)
{
    int saved = errno;
    hpcb_sleep_end_t end;

    lower_slack();
    end = sleep_or_wake(ns, now_ns);
    put_slack_back();
    errno = saved;
    return end;
}

void hpcb_sleep_unwatch(void)
{
    int saved = errno;

    if (!atomic_load(&watches) || atomic_flag_test_and_set(&looking))
        return;
    for_connections(stop_to_watch);
    atomic_store(&watches, false);
    atomic_flag_clear(&looking);
    errno = saved;
}

void hpcb_sleep_can_be_ended(void)
{
    struct epoll_event event = {.events = EPOLLOUT | EPOLLET, .data.u32 = ENDER};
    int epoll = make_watcher();
    int fd;

    if (epoll < 0 || atomic_load(&ender) >= 0 || atomic_load(&look_at) == NEVER)
        return;
    fd = out_of_the_way(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (fd < 0)
        return;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        close(fd);
        return;
    }
    atomic_store(&ender, fd);
}

void hpcb_sleep_end_one(void)
{
    struct epoll_event event = {.events = EPOLLOUT | EPOLLET, .data.u32 = ENDER};
    int saved = errno;

    if (atomic_load(&ender) >= 0)
        epoll_ctl(atomic_load(&watcher), EPOLL_CTL_MOD, atomic_load(&ender), &event);
    errno = saved;
}
