/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A process next to the daemon that ends boosts and continues guests when the daemon
 * cannot: when it has died (kill -9), or misses a deadline.  It has no loop and no
 * socket: it sleeps until the daemon is late, and the end of a pipe shows that the
 * daemon has died.
 *
 * The deadlines are in shared memory, so that a switch costs no system call and wakes
 * no process: the watchdog reads the new deadline when the old one has passed, once a
 * period or less often.  It must only be woken for a deadline before the one for which
 * it sleeps.
 */
#ifndef HPCB_HPCBD_WINDOWS_WATCHDOG_H
#define HPCB_HPCBD_WINDOWS_WATCHDOG_H

#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

/* Delay after a deadline before the watchdog ends the daemon, and time that the daemon
 * gets after a period in which the watchdog could not run either. */
#define HPCBD_WATCHDOG_GRACE_NS INT64_C(500000000)

/* Tasks of the daemon with a deadline of their own. */
typedef enum {
    HPCBD_WATCHDOG_BOOST,      /* end a boost */
    HPCBD_WATCHDOG_GUESTS,     /* decide again about stopped guests */
    HPCBD_WATCHDOG_EXPERIMENT, /* end an experiment */
    HPCBD_WATCHDOG_GUARD,      /* give harmful guests their next turn */
    HPCBD_WATCHDOG_SLICES,     /* decide again about primaries with long slices */
    HPCBD_WATCHDOG_GANG,       /* elect the jobs of the next quantum */
    HPCBD_WATCHDOG_DEADLINES
} hpcbd_watchdog_deadline_t;

/* Shared by the two processes. */
typedef struct hpcbd_watchdog_page hpcbd_watchdog_page_t;

typedef struct {
    /* Reports an error (EPOLLERR) when the watchdog has died; -1: none. */
    int fd;
    pid_t pid;
    hpcbd_watchdog_page_t *page;
} hpcbd_watchdog_t;

/* Fork it.  release is called in it, as its last action, when the daemon has died; it
 * must not depend on anything that changes after the fork.  Return 0, or -1 with err
 * and watchdog unchanged. */
int hpcbd_watchdog_start(hpcbd_watchdog_t *watchdog, void (*release)(void *arg),
                         void *arg, hpcb_error_t *err);

/* Set the deadline to end_ns of CLOCK_MONOTONIC; 0: none. */
void hpcbd_watchdog_arm(hpcbd_watchdog_t *watchdog, hpcbd_watchdog_deadline_t deadline,
                        int64_t end_ns);

/* Release once more, and end it.  Harmless if there is none. */
void hpcbd_watchdog_stop(hpcbd_watchdog_t *watchdog);

#endif
