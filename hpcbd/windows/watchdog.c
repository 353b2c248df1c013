/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/window.h"
#include "hpcbd/loop.h"
#include "hpcbd/windows/watchdog.h"

/* Where the kernel has no close_range (before Linux 5.9). */
#define FD_TRIED 1024

struct hpcbd_watchdog_page {
    _Atomic int64_t end_ns[HPCBD_WATCHDOG_DEADLINES]; /* CLOCK_MONOTONIC; 0: none */
    /* The deadline that the watchdog sleeps for; NEVER: for none.  For one before it,
     * it is to be woken by a byte in the pipe. */
    _Atomic int64_t asleep_ns;
};

#define NEVER INT64_MAX

static int64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const char *const late_for[HPCBD_WATCHDOG_DEADLINES] = {
    [HPCBD_WATCHDOG_BOOST] = "while a job was favoured",
    [HPCBD_WATCHDOG_GUESTS] = "while guests were stopped",
    [HPCBD_WATCHDOG_EXPERIMENT] = "while guests were stopped for an experiment",
    [HPCBD_WATCHDOG_GUARD] = "while guests were restricted",
    [HPCBD_WATCHDOG_SLICES] = "while primaries had long slices",
    [HPCBD_WATCHDOG_GANG] = "while jobs waited for their turn",
};

/* The next deadline; 0: there is none. */
static int64_t next_end(hpcbd_watchdog_page_t *page, hpcbd_watchdog_deadline_t *which)
{
    int64_t next_ns = 0;

    for (unsigned i = 0; i < HPCBD_WATCHDOG_DEADLINES; i++) {
        int64_t end_ns = atomic_load(&page->end_ns[i]);

        if (!end_ns || (next_ns && end_ns >= next_ns))
            continue;
        next_ns = end_ns;
        *which = (hpcbd_watchdog_deadline_t)i;
    }
    return next_ns;
}

/* How long to sleep; -1: until woken, 0: the time of which is up. */
static int wait_ms(hpcbd_watchdog_page_t *page, hpcbd_watchdog_deadline_t *which)
{
    int64_t end_ns, asleep_ns, left;

    /* Once more: what was armed before it could see for what we sleep wakes nobody. */
    do {
        end_ns = next_end(page, which);
        asleep_ns = end_ns ? end_ns : NEVER;
        atomic_store(&page->asleep_ns, asleep_ns);
        end_ns = next_end(page, which);
    } while (end_ns && end_ns < asleep_ns);
    if (end_ns == 0)
        return -1;
    left = end_ns + HPCBD_WATCHDOG_GRACE_NS - monotonic_ns();
    return left <= 0 ? 0 : (int)(left / 1000000) + 1;
}

/* Returns when the daemon is no more: what it was late for if it had to go, or NULL. */
static const char *watch(hpcbd_watchdog_page_t *page, int fd, pid_t daemon)
{
    for (;;) {
        struct pollfd pipe = {.fd = fd, .events = POLLIN};
        hpcbd_watchdog_deadline_t which = HPCBD_WATCHDOG_BOOST;
        int limit_ms = wait_ms(page, &which), n;
        char byte;
        ssize_t length;

        if (limit_ms == 0) {
            kill(daemon, SIGKILL);
            return late_for[which];
        }
        n = poll(&pipe, 1, limit_ms);
        if (n <= 0)
            continue;
        length = read(fd, &byte, sizeof(byte));
        if (length == 0 || (length < 0 && errno != EINTR && errno != EAGAIN))
            return NULL;
    }
}

/* Nothing of the daemon's may stay open here: its sockets must end with it. */
static void close_others(int keep)
{
    if (keep > 3)
        syscall(SYS_close_range, 3, keep - 1, 0);
    if (syscall(SYS_close_range, keep + 1, ~0U, 0) == 0)
        return;
    for (int fd = 3; fd < FD_TRIED; fd++)
        if (fd != keep)
            close(fd);
}

static void become(void)
{
    const struct sched_param param = {.sched_priority = HPCBD_PRIORITY + 1};

    prctl(PR_SET_NAME, "hpcbd-watchdog");
    /* systemd ends the whole unit at once: this is the part that goes last. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    hpcb_loop_unblock_signals();
    mlockall(MCL_CURRENT);
    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

static void __attribute__((noreturn))
be_watchdog(hpcbd_watchdog_page_t *page, int fd, pid_t daemon,
            void (*release)(void *arg), void *arg)
{
    const char *late;

    close_others(fd);
    become();
    late = watch(page, fd, daemon);
    release(arg);
    if (late)
        hpcb_log(HPCB_LOG_ERROR, "hpcbd hung %s: killed", late);
    _exit(0);
}

static int fail(hpcbd_watchdog_page_t *page, const int ends[2], hpcb_error_t *err)
{
    hpcb_error(err, "watchdog: %s", strerror(errno));
    if (page)
        munmap(page, sizeof(*page));
    if (ends) {
        close(ends[0]);
        close(ends[1]);
    }
    return -1;
}

int hpcbd_watchdog_start(hpcbd_watchdog_t *watchdog, void (*release)(void *arg),
                         void *arg, hpcb_error_t *err)
{
    pid_t daemon = getpid(), pid;
    hpcbd_watchdog_page_t *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ends[2];

    if (page == MAP_FAILED)
        return fail(NULL, NULL, err);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return fail(page, NULL, err);
    pid = fork();
    if (pid < 0)
        return fail(page, ends, err);
    if (pid == 0)
        be_watchdog(page, ends[0], daemon, release, arg);
    close(ends[0]);
    *watchdog = (hpcbd_watchdog_t){.fd = ends[1], .pid = pid, .page = page};
    return 0;
}

void hpcbd_watchdog_arm(hpcbd_watchdog_t *watchdog, hpcbd_watchdog_deadline_t deadline,
                        int64_t end_ns)
{
    if (watchdog->fd < 0)
        return;
    atomic_store(&watchdog->page->end_ns[deadline], end_ns);
    if (!end_ns || end_ns >= atomic_load(&watchdog->page->asleep_ns))
        return;
    atomic_store(&watchdog->page->asleep_ns, end_ns);
    if (write(watchdog->fd, "", 1) < 0)
        hpcb_log(HPCB_LOG_DEBUG, "the watchdog cannot be woken: %s", strerror(errno));
}

void hpcbd_watchdog_stop(hpcbd_watchdog_t *watchdog)
{
    if (watchdog->fd < 0)
        return;
    close(watchdog->fd);
    watchdog->fd = -1;
    while (waitpid(watchdog->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    munmap(watchdog->page, sizeof(*watchdog->page));
}
