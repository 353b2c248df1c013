/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Services for daemon parts that change tasks: a directory for undo logs, and a
 * watchdog (hpcbd/windows/watchdog.h) that undoes the changes when the daemon cannot.
 * The part is notified if the watchdog itself ends.
 */
#ifndef HPCB_HPCBD_WINDOWS_GUARD_H
#define HPCB_HPCBD_WINDOWS_GUARD_H

#include <limits.h>
#include "hpcbd/loop.h"
#include "hpcbd/windows/watchdog.h"

typedef struct {
    const char *name; /* of the part */
    /* In the watchdog's process: undo everything. */
    void (*release)(void *arg);
    /* The watchdog has ended and can be restarted. */
    void (*gone)(void);
    hpcbd_watchdog_t watchdog;
    hpcb_source_t *source; /* NULL: there is none */
} hpcbd_guard_t;

/* Return 0, or -1 with err; there is no watchdog then. */
int hpcbd_guard_start(hpcb_loop_t *loop, hpcbd_guard_t *guard, hpcb_error_t *err);

/* Harmless if there is none. */
void hpcbd_guard_stop(hpcbd_guard_t *guard);

/* Create the directory of the part's undo logs below StateDir and write its path to
 * dir.  Return 0, or -1 with err. */
int hpcbd_guard_dir(const char *state_dir, const char *name, char dir[static PATH_MAX],
                    hpcb_error_t *err);

#endif
