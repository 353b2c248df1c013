/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The end of a child is seen at the other end of a socket, not by SIGCHLD: signals
 * merge, and other parts have children, too.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "hpcbd/child.h"

#define SECOND_NS      UINT64_C(1000000000)
#define BACKOFF_MAX_NS (60 * SECOND_NS)

/* One that has lasted so long was not broken from the start. */
#define LASTED_SECONDS 60

#define FD_TRIED 65536

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

struct hpcbd_child {
    hpcb_loop_t *loop;
    const char *name;
    int (*work)(void *arg);
    void *arg;
    pid_t pid;  /* 0: none */
    int socket; /* its other end is open as long as the child lives; -1: none */
    void (*changed)(void *arg);
    void *watcher;
    hpcb_source_t *end, *again;
    uint64_t backoff_ns;
    struct timespec started;
};

static void reset_signals(void)
{
    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    hpcb_loop_unblock_signals();
}

/* The daemon's locks and sockets must not outlive it here.  close_range(2) came with
 * Linux 5.9. */
static void close_others(int keep)
{
    if (dup2(keep, HPCBD_CHILD_SOCKET) < 0)
        _exit(EXIT_FAILURE);
    if (syscall(SYS_close_range, HPCBD_CHILD_SOCKET + 1, ~0U, 0) == 0)
        return;
    for (int fd = HPCBD_CHILD_SOCKET + 1; fd < getdtablesize() && fd < FD_TRIED; fd++)
        close(fd);
}

static void __attribute__((noreturn))
be_child(const hpcbd_child_t *child, pid_t parent, int end)
{
    static const struct sched_param ordinary;

    reset_signals();
    close_others(end);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, child->name);
    sched_setscheduler(0, SCHED_OTHER, &ordinary);
    /* The parent may have ended before it was asked to take us along. */
    _exit(getppid() == parent ? child->work(child->arg) : EXIT_FAILURE);
}

static int launch(hpcbd_child_t *child, hpcb_error_t *err);

static void later(hpcbd_child_t *child)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - child->started.tv_sec >= LASTED_SECONDS)
        child->backoff_ns = SECOND_NS;
    hpcb_timer_in(child->again, child->backoff_ns, 0);
    child->backoff_ns *= 2;
    if (child->backoff_ns > BACKOFF_MAX_NS)
        child->backoff_ns = BACKOFF_MAX_NS;
}

static int reap(hpcbd_child_t *child)
{
    int status = 0;

    hpcb_source_remove(child->end);
    close(child->socket);
    child->socket = -1;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    child->pid = 0;
    return status;
}

static void notify(const hpcbd_child_t *child)
{
    if (child->changed)
        child->changed(child->watcher);
}

static void on_end(void *arg, uint64_t events)
{
    hpcbd_child_t *child = arg;
    int status = reap(child);

    (void)events;
    hpcb_log(HPCB_LOG_ERROR, "%s has ended (%s %d); it is started again", child->name,
             WIFSIGNALED(status) ? "signal" : "exit code",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    later(child);
    notify(child);
}

static void on_again(void *arg, uint64_t count)
{
    hpcbd_child_t *child = arg;
    hpcb_error_t err;

    (void)count;
    if (launch(child, &err) == 0) {
        notify(child);
        return;
    }
    hpcb_log(HPCB_LOG_ERROR, "%s: %s", child->name, err.text);
    later(child);
}

static int launch(hpcbd_child_t *child, hpcb_error_t *err)
{
    pid_t parent = getpid();
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return hpcb_error(err, "no socket: %s", strerror(errno));
    child->end = hpcb_loop_fd(child->loop, ends[0], EPOLLHUP, on_end, child, err);
    child->pid = child->end ? fork() : -1;
    if (child->pid == 0)
        be_child(child, parent, ends[1]);
    close(ends[1]);
    clock_gettime(CLOCK_MONOTONIC, &child->started);
    if (child->pid > 0) {
        child->socket = ends[0];
        return 0;
    }
    if (child->end)
        hpcb_error(err, "no process: %s", strerror(errno));
    hpcb_source_remove(child->end);
    close(ends[0]);
    child->pid = 0;
    return -1;
}

hpcbd_child_t *hpcbd_child_start(hpcb_loop_t *loop, const char *name,
                                 int (*work)(void *arg), void *arg, hpcb_error_t *err)
{
    hpcbd_child_t *child = calloc(1, sizeof(*child));

    if (!child) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    *child = (hpcbd_child_t){.loop = loop,
                             .name = name,
                             .work = work,
                             .arg = arg,
                             .socket = -1,
                             .backoff_ns = SECOND_NS};
    child->again = hpcb_loop_timer(loop, CLOCK_MONOTONIC, on_again, child, err);
    if (child->again && launch(child, err) == 0)
        return child;
    hpcb_source_remove(child->again);
    free(child);
    return NULL;
}

void hpcbd_child_watch(hpcbd_child_t *child, void (*changed)(void *arg), void *arg)
{
    child->changed = changed;
    child->watcher = arg;
}

int hpcbd_child_socket(const hpcbd_child_t *child)
{
    return child->socket;
}

void hpcbd_child_kill(hpcbd_child_t *child)
{
    if (child->pid > 0)
        kill(child->pid, SIGKILL);
}

/* The child runs once more to die, and the daemon waits for it.  In the idle class it
 * would get no CPU next to ranks that never wait, so it gets the daemon's own class. */
static void hurry(pid_t pid)
{
    struct sched_param own = {0};
    int policy = sched_getscheduler(0);

    if (policy < 0 || sched_getparam(0, &own) < 0)
        return;
    (void)sched_setscheduler(pid, policy & ~SCHED_RESET_ON_FORK, &own);
}

static void kill_and_reap(hpcbd_child_t *child)
{
    if (child->pid <= 0)
        return;
    kill(child->pid, SIGKILL);
    hurry(child->pid);
    reap(child);
}

void hpcbd_child_stop(hpcbd_child_t *child)
{
    if (!child)
        return;
    kill_and_reap(child);
    hpcb_source_remove(child->again);
    free(child);
}
