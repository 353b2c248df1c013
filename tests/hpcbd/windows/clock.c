/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "tests/hpcbd/windows/clock.h"

#define BILLION  INT64_C(1000000000)
#define PERIODIC 8

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *new,
                           struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new,
                           struct itimerspec *old);
ssize_t __real_read(int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size);

static int64_t offset_ns, unseen_ns;

/* The one timer of the wall clock. */
static struct {
    int fd; /* 0: none */
    bool told, cancelled;
    int64_t at_ns;
} wall;

static struct {
    int fd;
    int64_t interval_ns;
} periodic[PERIODIC];

static int64_t to_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * BILLION + time->tv_nsec;
}

static struct timespec to_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / BILLION, .tv_nsec = ns % BILLION};
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = __real_clock_gettime(clock, now);

    if (rc == 0 && clock == CLOCK_REALTIME)
        *now = to_timespec(to_ns(now) + offset_ns);
    return rc;
}

int64_t fake_clock_ns(void)
{
    struct timespec now;

    __wrap_clock_gettime(CLOCK_REALTIME, &now);
    return to_ns(&now);
}

static int start_wall(void)
{
    int64_t left_ns = wall.at_ns - fake_clock_ns();
    struct itimerspec in = {.it_value = to_timespec(left_ns > 0 ? left_ns : 1)};

    return __real_timerfd_settime(wall.fd, 0, &in, NULL);
}

static void expire(int fd, int64_t interval_ns)
{
    struct itimerspec now = {.it_value = {0, 1},
                             .it_interval = to_timespec(interval_ns)};

    __real_timerfd_settime(fd, 0, &now, NULL);
}

static void note_periodic(int fd, int64_t interval_ns)
{
    for (int i = 0; i < PERIODIC; i++) {
        if (periodic[i].fd && periodic[i].fd != fd)
            continue;
        periodic[i].fd = fd;
        periodic[i].interval_ns = interval_ns;
        return;
    }
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new,
                           struct itimerspec *old)
{
    if (!(flags & TFD_TIMER_ABSTIME)) {
        if (fd == wall.fd)
            wall.at_ns = 0;
        if (to_ns(&new->it_interval))
            note_periodic(fd, to_ns(&new->it_interval));
        return __real_timerfd_settime(fd, flags, new, old);
    }
    offset_ns += unseen_ns;
    unseen_ns = 0;
    wall.fd = fd;
    wall.told = flags & TFD_TIMER_CANCEL_ON_SET;
    wall.cancelled = false;
    wall.at_ns = to_ns(&new->it_value);
    return start_wall();
}

ssize_t __wrap_read(int fd, void *buf, size_t size)
{
    ssize_t n = __real_read(fd, buf, size);

    if (fd != wall.fd || !wall.fd)
        return n;
    if (wall.cancelled) {
        wall.cancelled = false;
        errno = ECANCELED;
        return -1;
    }
    if (n > 0)
        wall.at_ns = 0;
    return n;
}

void fake_clock_set(int64_t by_ns)
{
    offset_ns += by_ns;
    if (!wall.at_ns)
        return;
    if (wall.told) {
        wall.cancelled = true;
        expire(wall.fd, 0);
    } else {
        start_wall();
    }
}

void fake_clock_set_unseen(int64_t by_ns)
{
    unseen_ns = by_ns;
}

int64_t fake_clock_timer_ns(void)
{
    return wall.at_ns;
}

void fake_clock_expire(int64_t interval_ns)
{
    for (int i = 0; i < PERIODIC; i++)
        if (periodic[i].fd && periodic[i].interval_ns == interval_ns)
            expire(periodic[i].fd, interval_ns);
}
