/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A source that is removed stays in memory until the events that epoll_wait returned
 * together have been gone through: a later one of them may still point at it.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "hpcbd/loop.h"

#define BATCH   64
#define BILLION UINT64_C(1000000000)

typedef enum { KIND_FD, KIND_TIMER, KIND_SIGNAL } kind_t;

struct hpcb_source {
    hpcb_loop_t *loop;
    hpcb_source_t *prev, *next;
    kind_t kind;
    int fd;
    bool dead;
    uint64_t interval_ns; /* of a timer; 0: it expires once, or is off */
    hpcb_loop_fn fn;
    void *arg;
};

struct hpcb_loop {
    int epoll;
    bool stopping, has_dead;
    hpcb_source_t *sources;
    hpcb_histogram_t *turns; /* NULL: not noted */
};

hpcb_loop_t *hpcb_loop_new(hpcb_error_t *err)
{
    hpcb_loop_t *loop = calloc(1, sizeof(*loop));

    if (!loop) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll >= 0)
        return loop;
    hpcb_error(err, "cannot make an epoll descriptor: %s", strerror(errno));
    free(loop);
    return NULL;
}

/* Its descriptor is closed already, or not ours. */
static void unlink_source(hpcb_source_t *source)
{
    if (source->prev)
        source->prev->next = source->next;
    else
        source->loop->sources = source->next;
    if (source->next)
        source->next->prev = source->prev;
    free(source);
}

static void bury(hpcb_loop_t *loop)
{
    hpcb_source_t *next;

    if (!loop->has_dead)
        return;
    loop->has_dead = false;
    for (hpcb_source_t *source = loop->sources; source; source = next) {
        next = source->next;
        if (source->dead)
            unlink_source(source);
    }
}

void hpcb_loop_free(hpcb_loop_t *loop)
{
    if (!loop)
        return;
    for (hpcb_source_t *source = loop->sources; source; source = source->next)
        hpcb_source_remove(source);
    bury(loop);
    close(loop->epoll);
    free(loop);
}

void hpcb_loop_stop(hpcb_loop_t *loop)
{
    loop->stopping = true;
}

/* Return the value of a timer or a signal; -1: none (another caller read it, or
 * spurious). */
static int64_t take_events(const hpcb_source_t *source)
{
    struct signalfd_siginfo info;
    uint64_t count;

    if (source->kind == KIND_SIGNAL)
        return read(source->fd, &info, sizeof(info)) == sizeof(info)
                   ? (int64_t)info.ssi_signo
                   : -1;
    if (read(source->fd, &count, sizeof(count)) == sizeof(count))
        return (int64_t)count;
    return errno == ECANCELED ? 0 : -1;
}

static void dispatch(hpcb_source_t *source, uint32_t events)
{
    int64_t what = source->kind == KIND_FD ? (int64_t)events : take_events(source);

    if (what >= 0)
        source->fn(source->arg, (uint64_t)what);
}

void hpcb_loop_note_turns(hpcb_loop_t *loop, hpcb_histogram_t *turns)
{
    loop->turns = turns;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * BILLION + (uint64_t)now.tv_nsec;
}

static void turn(hpcb_loop_t *loop, const struct epoll_event *events, int n)
{
    uint64_t start = loop->turns ? monotonic_ns() : 0;

    for (int i = 0; i < n; i++) {
        hpcb_source_t *source = events[i].data.ptr;

        if (!source->dead)
            dispatch(source, events[i].events);
    }
    bury(loop);
    if (loop->turns)
        hpcb_histogram_add(loop->turns, monotonic_ns() - start);
}

int hpcb_loop_once(hpcb_loop_t *loop, int timeout_ms, hpcb_error_t *err)
{
    struct epoll_event events[BATCH];
    int n = epoll_wait(loop->epoll, events, BATCH, timeout_ms);

    if (n < 0)
        return errno == EINTR
                   ? 0
                   : hpcb_error(err, "cannot wait for events: %s", strerror(errno));
    turn(loop, events, n);
    return 0;
}

int hpcb_loop_run(hpcb_loop_t *loop, hpcb_error_t *err)
{
    loop->stopping = false;
    while (!loop->stopping)
        if (hpcb_loop_once(loop, -1, err))
            return -1;
    return 0;
}

/* Takes over fd of a timer or signal, also on failure. */
static hpcb_source_t *add_source(hpcb_loop_t *loop, kind_t kind, int fd,
                                 uint32_t events, hpcb_loop_fn fn, void *arg,
                                 hpcb_error_t *err)
{
    hpcb_source_t *source = fd < 0 ? NULL : calloc(1, sizeof(*source));
    struct epoll_event event = {.events = events, .data.ptr = source};

    if (source && epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) == 0) {
        *source =
            (hpcb_source_t){.loop = loop, .kind = kind, .fd = fd, .fn = fn, .arg = arg};
        source->next = loop->sources;
        if (source->next)
            source->next->prev = source;
        loop->sources = source;
        return source;
    }
    hpcb_error(err, "cannot watch for %s: %s",
               kind == KIND_FD      ? "a descriptor"
               : kind == KIND_TIMER ? "a timer"
                                    : "a signal",
               strerror(errno));
    free(source);
    if (kind != KIND_FD && fd >= 0)
        close(fd);
    return NULL;
}

hpcb_source_t *hpcb_loop_fd(hpcb_loop_t *loop, int fd, uint32_t events, hpcb_loop_fn fn,
                            void *arg, hpcb_error_t *err)
{
    return add_source(loop, KIND_FD, fd, events, fn, arg, err);
}

int hpcb_source_events(hpcb_source_t *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};

    return epoll_ctl(source->loop->epoll, EPOLL_CTL_MOD, source->fd, &event);
}

hpcb_source_t *hpcb_loop_timer(hpcb_loop_t *loop, clockid_t clock, hpcb_loop_fn fn,
                               void *arg, hpcb_error_t *err)
{
    int fd = timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK);

    return add_source(loop, KIND_TIMER, fd, EPOLLIN, fn, arg, err);
}

static struct timespec to_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / BILLION),
                             .tv_nsec = (long)(ns % BILLION)};
}

int hpcb_timer_in(hpcb_source_t *timer, uint64_t first_ns, uint64_t interval_ns)
{
    struct itimerspec when = {.it_value = to_timespec(first_ns),
                              .it_interval = to_timespec(interval_ns)};

    timer->interval_ns = first_ns ? interval_ns : 0;
    return timerfd_settime(timer->fd, 0, &when, NULL);
}

int hpcb_timer_every(hpcb_source_t *timer, uint64_t interval_ns)
{
    return timer->interval_ns == interval_ns
               ? 0
               : hpcb_timer_in(timer, interval_ns, interval_ns);
}

int hpcb_timer_at(hpcb_source_t *timer, uint64_t at_ns, uint64_t interval_ns)
{
    struct itimerspec when = {.it_value = to_timespec(at_ns),
                              .it_interval = to_timespec(interval_ns)};

    timer->interval_ns = interval_ns;
    return timerfd_settime(timer->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
                           &when, NULL);
}

hpcb_source_t *hpcb_loop_signal(hpcb_loop_t *loop, int signo, hpcb_loop_fn fn,
                                void *arg, hpcb_error_t *err)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, signo);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return add_source(loop, KIND_SIGNAL, signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
                      EPOLLIN, fn, arg, err);
}

void hpcb_loop_unblock_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void hpcb_source_remove(hpcb_source_t *source)
{
    if (!source || source->dead)
        return;
    epoll_ctl(source->loop->epoll, EPOLL_CTL_DEL, source->fd, NULL);
    if (source->kind != KIND_FD)
        close(source->fd);
    source->dead = true;
    source->loop->has_dead = true;
}
