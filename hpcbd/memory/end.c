/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A killed process of an idle group gets next to no CPU on a node whose primaries spin,
 * and so frees its memory late: process_mrelease(2) (Linux 5.15) takes it back here.
 * But for shared memory, memory files and tmpfs, which only go with the process: a
 * primary that grows meanwhile would meet the OOM killer, to which the guest is gone
 * already.  So these processes exit as SCHED_FIFO.
 *
 * The line for the user goes to what the guest has as its standard error.  What that
 * is, the guest says, and be it a file system of its own (FUSE) that never answers.  So
 * only a process that may hang, and is killed then, has to do with it: it copies the
 * descriptor, so that it allows what it allowed there, and writes as the guest's user.
 */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup/exiting.h"
#include "cgroup/steps.h"
#include "common/cleanup.h"
#include "common/ended.h"
#include "hpcbd/memory/end.h"
#include "hpcbd/memory/notice.h"
#include "hpcbd/requeue.h"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif

#define ROUNDS_MAX   32  /* against a guest that forks */
#define RELEASES_MAX 256 /* open at once */
#define COPY_MS      20  /* delay of a guest's end so that its user can be notified */

typedef struct {
    const hpcbd_ending_t *ending;
    int signo;
    int count;    /* in this round */
    int released; /* descriptors in pidfds */
    int pidfds[RELEASES_MAX];
} sweep_t;

static int pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* The ID may belong to another process since its group was read; the descriptor refers
 * to the process that had it at the open. */
static bool is_of_job(const hpcbd_ending_t *ending, pid_t pid)
{
    char dir[PATH_MAX];

    return hpcb_steps_job(ending->node, pid, dir, sizeof(dir), NULL) == 0 &&
           strcmp(dir, ending->steps) == 0;
}

static int signal_process(pid_t pid, void *arg)
{
    sweep_t *sweep = arg;
    int pidfd = pidfd_of(pid);

    if (pidfd < 0)
        return 0;
    if (!is_of_job(sweep->ending, pid)) {
        close(pidfd);
        return 0;
    }
    if (syscall(SYS_pidfd_send_signal, pidfd, sweep->signo, NULL, 0) == 0)
        sweep->count++;
    if (sweep->signo == SIGKILL && sweep->released < RELEASES_MAX)
        sweep->pidfds[sweep->released++] = pidfd;
    else
        close(pidfd);
    return 0;
}

/* Takes a moment for each GiB.  Fails for a process whose memory another one that lives
 * shares, and for one that has freed it itself. */
static void release(sweep_t *sweep)
{
    for (int i = 0; i < sweep->released; i++) {
        syscall(SYS_process_mrelease, sweep->pidfds[i], 0);
        close(sweep->pidfds[i]);
    }
    sweep->released = 0;
}

static int signal_all(const hpcbd_ending_t *ending, sweep_t *sweep)
{
    int total = 0;

    for (int round = 0; round < ROUNDS_MAX; round++) {
        sweep->count = 0;
        hpcb_steps_each(ending->node, ending->steps, signal_process, sweep);
        total += sweep->count;
        /* Also who exits already: such a process is of no job any more (v1). */
        if (sweep->signo == SIGKILL && (round == 0 || sweep->count > 0))
            hpcb_exiting_lift(ending->steps, ending->group);
        release(sweep);
        if (sweep->count == 0 || sweep->signo != SIGKILL)
            break;
    }
    return total;
}

/* Only what a line of text belongs into. */
static bool takes_text(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 &&
           (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) ||
            (S_ISCHR(status.st_mode) && isatty(fd)));
}

static int copy_stderr(int pidfd)
{
    int fd = (int)syscall(SYS_pidfd_getfd, pidfd, STDERR_FILENO, 0);

    if (fd >= 0 && takes_text(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

typedef struct {
    const hpcbd_ending_t *ending;
    int fd; /* the guest's standard error; -1: none yet */
} notice_t;

static int find_stderr(pid_t pid, void *arg)
{
    notice_t *notice = arg;
    hpcb_autoclose int pidfd = pidfd_of(pid);

    if (pidfd >= 0 && is_of_job(notice->ending, pid))
        notice->fd = copy_stderr(pidfd);
    return notice->fd >= 0;
}

static void __attribute__((noreturn))
be_teller(const hpcbd_ending_t *ending, int copied)
{
    notice_t notice = {.ending = ending, .fd = -1};

    signal(SIGALRM, SIG_DFL);
    alarm(HPCBD_NOTICE_SECONDS);
    hpcb_steps_each(ending->node, ending->steps, find_stderr, &notice);
    close(copied);
    if (notice.fd >= 0 && hpcbd_notice_become(ending->uid) == 0)
        hpcbd_notice_write(notice.fd, ending->job_id, ending->used);
    _exit(EXIT_SUCCESS);
}

/* Before the guest ends: with it its descriptors go. */
static void tell_user(const hpcbd_ending_t *ending)
{
    struct pollfd copied;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    if (fork() == 0)
        be_teller(ending, ends[1]);
    close(ends[1]);
    copied = (struct pollfd){.fd = ends[0]}; /* only its end */
    poll(&copied, 1, COPY_MS);
    close(ends[0]);
}

/* The note first: Slurm takes a comment for the run that ends as long as it runs. */
int hpcbd_memory_end(const hpcbd_ending_t *ending, bool first, hpcb_error_t *err)
{
    sweep_t sweep = {.ending = ending, .signo = ending->at_once ? SIGKILL : SIGTERM};
    int noted = first ? hpcbd_requeue_note(ending->state_dir, ending->job_id,
                                           HPCBD_REQUEUE_MEMORY, ending->used, err)
                      : 0;
    int total;

    if (first)
        hpcb_ended_save(ending->state_dir, ending->job_id, HPCB_ENDED_MEMORY, NULL);
    /* Without an owner nobody is notified. */
    if (first && ending->uid != (uid_t)-1)
        tell_user(ending);
    total = signal_all(ending, &sweep);
    return noted < 0 ? -1 : total;
}
