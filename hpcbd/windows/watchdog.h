/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A process next to the daemon that ends boosts and sets guests going when the daemon
 * cannot: when it has died (kill -9), or hangs over a deadline.  It has no loop and no
 * socket: it sleeps until the daemon is late, and at the end of a pipe it sees that the
 * daemon has gone.
 *
 * The deadlines are in memory that both see, so that an edge costs no system call and
 * wakes nobody: the watchdog finds that it has been put off when it scans, once a
 * period or less often.  Only for a deadline before the one that it sleeps for does it
 * have to be woken.
 */
#ifndef HPCB_HPCBD_WINDOWS_WATCHDOG_H
#define HPCB_HPCBD_WINDOWS_WATCHDOG_H

#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

/* How late the daemon may be for a deadline before the watchdog ends it, and what it
 * gets after a time in which the watchdog could not run either. */
#define HPCBD_WATCHDOG_GRACE_NS INT64_C(500000000)

/* What the daemon has to do by a deadline; each has one of its own. */
typedef enum {
    HPCBD_WATCHDOG_BOOST,      /* end a boost */
    HPCBD_WATCHDOG_GUESTS,     /* decide again about guests that are stopped */
    HPCBD_WATCHDOG_EXPERIMENT, /* end an experiment */
    HPCBD_WATCHDOG_GUARD,      /* give guests that harm their next turn */
    HPCBD_WATCHDOG_SLICES,     /* decide again about primaries with long slices */
    HPCBD_WATCHDOG_GANG,       /* elect who runs in the next quantum */
    HPCBD_WATCHDOG_DEADLINES
} hpcbd_watchdog_deadline_t;

/* What the two processes share. */
typedef struct hpcbd_watchdog_page hpcbd_watchdog_page_t;

typedef struct {
    /* The watchdog has gone when this reports an error (EPOLLERR); -1: none. */
    int fd;
    pid_t pid;
    hpcbd_watchdog_page_t *page;
} hpcbd_watchdog_t;

/* Fork it.  release is called there, as the last thing, when the daemon has gone; it
 * must not depend on anything that changes after the fork.  0, or -1 with err; watchdog
 * is untouched then. */
int hpcbd_watchdog_start(hpcbd_watchdog_t *watchdog, void (*release)(void *arg),
                         void *arg, hpcb_error_t *err);

/* The daemon will have done it by end_ns of CLOCK_MONOTONIC; 0: there is nothing to
 * do. */
void hpcbd_watchdog_arm(hpcbd_watchdog_t *watchdog, hpcbd_watchdog_deadline_t deadline,
                        int64_t end_ns);

/* It releases once more, and ends.  Harmless where there is none. */
void hpcbd_watchdog_stop(hpcbd_watchdog_t *watchdog);

#endif
