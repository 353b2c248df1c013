/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/file.h"
#include "common/log.h"
#include "common/window.h"
#include "hpcbd/loop.h"
#include "hpcbd/windows/watchdog.h"

/* If the kernel has no close_range (before Linux 5.9). */
#define FD_TRIED 1024

struct hpcbd_watchdog_page {
    _Atomic int64_t end_ns[HPCBD_WATCHDOG_DEADLINES]; /* CLOCK_MONOTONIC; 0: none */
    /* The deadline that the watchdog sleeps for; NEVER: for none.  For one before it,
     * it is to be woken by a byte in the pipe. */
    _Atomic int64_t asleep_ns;
};

#define NEVER INT64_MAX

/* A process that wakes up so much later than requested could not run, and neither could
 * the daemon: a virtual machine was stopped. */
#define OVERSLEPT_NS INT64_C(100000000)

/* State of the watchdog. */
typedef struct {
    hpcbd_watchdog_page_t *page;
    int fd;
    int64_t late_ns;   /* it woke that much later than it wanted to */
    int64_t pardon_ns; /* the daemon is not killed before; 0: it did not oversleep */
} watch_t;

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

/* Until when to sleep, on CLOCK_MONOTONIC; NEVER: until woken. */
static int64_t sleep_until(const watch_t *watch, hpcbd_watchdog_deadline_t *which)
{
    hpcbd_watchdog_page_t *page = watch->page;
    int64_t end_ns, asleep_ns;

    /* Once more, because a deadline that was set before our sleep was visible wakes
     * nobody. */
    do {
        end_ns = next_end(page, which);
        asleep_ns = end_ns ? end_ns : NEVER;
        atomic_store(&page->asleep_ns, asleep_ns);
        end_ns = next_end(page, which);
    } while (end_ns && end_ns < asleep_ns);
    if (end_ns == 0)
        return NEVER;
    end_ns += HPCBD_WATCHDOG_GRACE_NS;
    return end_ns > watch->pardon_ns ? end_ns : watch->pardon_ns;
}

/* The daemon could not use time that the watchdog has overslept either.  A deadline
 * that has passed when it is first seen was in the future when the daemon set it. */
static void notice_sleep(watch_t *watch, int64_t until_ns, bool woken)
{
    hpcbd_watchdog_deadline_t which;
    int64_t now_ns = monotonic_ns(), end_ns = next_end(watch->page, &which);

    if (woken && end_ns)
        until_ns = end_ns + HPCBD_WATCHDOG_GRACE_NS - OVERSLEPT_NS;
    watch->late_ns = until_ns < now_ns ? now_ns - until_ns : 0;
    if (watch->late_ns > OVERSLEPT_NS)
        watch->pardon_ns = now_ns + HPCBD_WATCHDOG_GRACE_NS;
}

/* False: the daemon has gone. */
static bool sleep_until_due(watch_t *watch, int64_t until_ns)
{
    struct pollfd pipe = {.fd = watch->fd, .events = POLLIN};
    int64_t left_ns = until_ns - monotonic_ns();
    int n =
        poll(&pipe, 1, until_ns == NEVER ? -1 : (int)((left_ns + 999999) / 1000000));
    ssize_t length = 1;
    char byte;

    if (n > 0)
        length = read(watch->fd, &byte, sizeof(byte));
    notice_sleep(watch, until_ns, n > 0);
    return length > 0 || (length < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Returns when the daemon is no more, or has to go: what it is late for; else NULL. */
static const char *watch(watch_t *watch)
{
    hpcbd_watchdog_deadline_t which = HPCBD_WATCHDOG_BOOST;
    int64_t until_ns;

    do {
        until_ns = sleep_until(watch, &which);
        if (until_ns <= monotonic_ns())
            return late_for[which];
    } while (sleep_until_due(watch, until_ns));
    return NULL;
}

/* Its state, where it waits in the kernel, and for how long it has run and has waited
 * for a CPU so far: to tell whether it is stuck or cannot run. */
typedef struct {
    char state, where[64];
    uint64_t ran_ns, waited_ns;
} autopsy_t;

static bool read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return hpcb_file_read(path, text, size, NULL) > 0;
}

/* Of one that lives; what cannot be read stays '?', "" or 0. */
static void look_into(pid_t pid, autopsy_t *autopsy)
{
    char text[512];
    const char *name_end;

    *autopsy = (autopsy_t){.state = '?'};
    if (read_proc(pid, "stat", text, sizeof(text)) && (name_end = strrchr(text, ')')))
        sscanf(name_end, ") %c", &autopsy->state);
    read_proc(pid, "wchan", autopsy->where, sizeof(autopsy->where));
    if (read_proc(pid, "schedstat", text, sizeof(text)))
        sscanf(text, "%" SCNu64 " %" SCNu64, &autopsy->ran_ns, &autopsy->waited_ns);
}

static void report(const char *late, const watch_t *watch, const autopsy_t *autopsy)
{
    hpcb_log(HPCB_LOG_ERROR,
             "hpcbd hung %s: killed (state %c, waits in \"%s\", ran for %.3f s, waited "
             "%.3f s for a CPU; the watchdog woke %.3f s late)",
             late, autopsy->state, autopsy->where, (double)autopsy->ran_ns / 1e9,
             (double)autopsy->waited_ns / 1e9, (double)watch->late_ns / 1e9);
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
    watch_t self = {.page = page, .fd = fd};
    autopsy_t autopsy;
    const char *late;

    close_others(fd);
    become();
    late = watch(&self);
    if (late) {
        look_into(daemon, &autopsy);
        kill(daemon, SIGKILL);
    }
    release(arg);
    if (late)
        report(late, &self, &autopsy);
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
