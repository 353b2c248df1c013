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
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "hpcbd/loop.h"
#include "hpcbd/watchdog.h"
#include "hpcbd/window.h"

static int64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int wait_ms(int64_t end_ns)
{
    int64_t left;

    if (end_ns == 0)
        return -1;
    left = end_ns + HPCBD_WATCHDOG_GRACE_NS - monotonic_ns();
    return left <= 0 ? 0 : (int)(left / 1000000) + 1;
}

/* Returns when the daemon is no more; true: it had to go. */
static bool watch(int fd, pid_t daemon)
{
    int64_t end_ns = 0, told;

    for (;;) {
        struct pollfd pipe = {.fd = fd, .events = POLLIN};
        int n = poll(&pipe, 1, wait_ms(end_ns));
        ssize_t length;

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0) {
            kill(daemon, SIGKILL);
            return true;
        }
        length = read(fd, &told, sizeof(told));
        if (length == sizeof(told))
            end_ns = told;
        else if (length == 0 || (length < 0 && errno != EINTR && errno != EAGAIN))
            return false;
    }
}

/* Nothing of the daemon's may stay open here: its sockets must end with it. */
static void close_others(int keep)
{
    for (int fd = 3; fd < 256; fd++)
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

int hpcbd_watchdog_start(hpcbd_watchdog_t *watchdog, void (*release)(void *arg),
                         void *arg, hpcb_error_t *err)
{
    pid_t daemon = getpid(), pid;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return hpcb_error(err, "watchdog: %s", strerror(errno));
    pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return hpcb_error(err, "watchdog: %s", strerror(errno));
    }
    if (pid == 0) {
        bool hung;

        close_others(ends[0]);
        become();
        hung = watch(ends[0], daemon);
        release(arg);
        if (hung)
            hpcb_log(HPCB_LOG_ERROR, "hpcbd hung while a job was favoured: killed");
        _exit(0);
    }
    close(ends[0]);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    *watchdog = (hpcbd_watchdog_t){.fd = ends[1], .pid = pid};
    return 0;
}

int hpcbd_watchdog_arm(hpcbd_watchdog_t *watchdog, int64_t end_ns)
{
    if (watchdog->fd < 0 || watchdog->armed_ns == end_ns)
        return 0;
    if (write(watchdog->fd, &end_ns, sizeof(end_ns)) != sizeof(end_ns))
        return -1;
    watchdog->armed_ns = end_ns;
    return 0;
}

void hpcbd_watchdog_stop(hpcbd_watchdog_t *watchdog)
{
    if (watchdog->fd < 0)
        return;
    close(watchdog->fd);
    watchdog->fd = -1;
    while (waitpid(watchdog->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
