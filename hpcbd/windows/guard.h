/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a part of the daemon needs that changes tasks: where it notes what was before,
 * and a watchdog of its own (hpcbd/windows/watchdog.h) that undoes it when the daemon
 * cannot, and is missed when it goes itself.
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
    /* It has gone, and can be started again. */
    void (*gone)(void);
    hpcbd_watchdog_t watchdog;
    hpcb_source_t *source; /* NULL: there is none */
} hpcbd_guard_t;

/* 0, or -1 with err, and then there is none. */
int hpcbd_guard_start(hpcb_loop_t *loop, hpcbd_guard_t *guard, hpcb_error_t *err);

/* Harmless where there is none. */
void hpcbd_guard_stop(hpcbd_guard_t *guard);

/* Make the directory of the part's undo logs below StateDir; dir becomes its name. 0,
 * or -1 with err. */
int hpcbd_guard_dir(const char *state_dir, const char *name, char dir[static PATH_MAX],
                    hpcb_error_t *err);

#endif
