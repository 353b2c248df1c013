/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A process beside the daemon that ends favour when the daemon cannot: when it has died
 * (kill -9), or hangs over an edge.  It has no loop, no socket and no memory of its
 * own: it waits on a pipe for the time until which the daemon wants to favour somebody.
 */
#ifndef HPCB_HPCBD_WATCHDOG_H
#define HPCB_HPCBD_WATCHDOG_H

#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

/* How late an edge may be before the watchdog ends the daemon. */
#define HPCBD_WATCHDOG_GRACE_NS INT64_C(500000000)

typedef struct {
    int fd; /* -1: none */
    pid_t pid;
    int64_t armed_ns; /* what it was told last */
} hpcbd_watchdog_t;

/* Fork it.  release is called there, as the last thing, when the daemon has gone; it
 * must not depend on anything that changes after the fork.  0, or -1 with err. */
int hpcbd_watchdog_start(hpcbd_watchdog_t *watchdog, void (*release)(void *arg),
                         void *arg, hpcb_error_t *err);

/* Favour will end at end_ns of CLOCK_MONOTONIC; 0: nobody is favoured.  -1 with errno
 * where the watchdog has gone (EPIPE). */
int hpcbd_watchdog_arm(hpcbd_watchdog_t *watchdog, int64_t end_ns);

/* It releases once more, and ends. */
void hpcbd_watchdog_stop(hpcbd_watchdog_t *watchdog);

#endif
