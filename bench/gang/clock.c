/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Preloaded into hpcbd on a node whose clock is stepped; the machine's own clock is
 * everybody's.  CLOCK_REALTIME, and timers on it, are off by the nanoseconds that
 * $CLOCK_STEP, a file of 8 bytes, holds when SIGRTMAX comes.  As the kernel does, that
 * cancels timers that asked for it: read() fails with ECANCELED.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
#define FDS    1024

static int64_t offset_ns;
static int step_fd = -1;

static struct {
    bool real, cancels;
    volatile sig_atomic_t cancelled;
} timers[FDS];

static bool is_real(int fd)
{
    return fd >= 0 && fd < FDS && timers[fd].real;
}

static void adopt(void)
{
    int64_t value;

    if (pread(step_fd, &value, sizeof(value), 0) == sizeof(value))
        offset_ns = value;
}

static void on_step(int signo)
{
    static const struct itimerspec now = {.it_value = {0, 1}};
    int saved = errno;

    (void)signo;
    adopt();
    for (int fd = 0; fd < FDS; fd++) {
        if (!timers[fd].real || !timers[fd].cancels)
            continue;
        timers[fd].cancelled = 1;
        syscall(SYS_timerfd_settime, fd, TFD_TIMER_ABSTIME, &now, NULL);
    }
    errno = saved;
}

static void __attribute__((constructor)) begin(void)
{
    struct sigaction action = {.sa_handler = on_step, .sa_flags = SA_RESTART};
    const char *path = getenv("CLOCK_STEP");

    step_fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (step_fd < 0)
        return;
    adopt();
    sigaction(SIGRTMAX, &action, NULL);
}

static struct timespec shifted(const struct timespec *when, int64_t by_ns)
{
    int64_t ns = when->tv_sec * SECOND + when->tv_nsec + by_ns;

    ns = ns > 0 ? ns : 1;
    return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);

    if (status == 0 && clock == CLOCK_REALTIME)
        *now = shifted(now, offset_ns);
    return status;
}

int timerfd_create(clockid_t clock, int flags)
{
    int fd = (int)syscall(SYS_timerfd_create, clock, flags);

    if (fd >= 0 && fd < FDS) {
        timers[fd].cancels = false;
        timers[fd].cancelled = 0;
        timers[fd].real = clock == CLOCK_REALTIME;
    }
    return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *when,
                    struct itimerspec *old)
{
    struct itimerspec real = *when;
    bool is_set = when->it_value.tv_sec || when->it_value.tv_nsec;

    if (is_real(fd)) {
        timers[fd].cancels = flags & TFD_TIMER_CANCEL_ON_SET;
        timers[fd].cancelled = 0;
        if (is_set && flags & TFD_TIMER_ABSTIME)
            real.it_value = shifted(&when->it_value, -offset_ns);
    }
    return (int)syscall(SYS_timerfd_settime, fd, flags, &real, old);
}

ssize_t read(int fd, void *data, size_t size)
{
    ssize_t n = syscall(SYS_read, fd, data, size);

    if (!is_real(fd) || !timers[fd].cancelled)
        return n;
    timers[fd].cancelled = 0;
    errno = ECANCELED;
    return -1;
}
