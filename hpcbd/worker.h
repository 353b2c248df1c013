/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A part of the daemon that is a child process, as long as the configuration requires
 * it. */
#ifndef HPCB_HPCBD_WORKER_H
#define HPCB_HPCBD_WORKER_H

#include <stdbool.h>
#include "hpcbd/child.h"
#include "hpcbd/hpcbd.h"

typedef struct hpcbd_worker {
    const char *name;
    bool (*wanted)(const hpcb_conf_t *conf);
    int (*work)(void *conf); /* as in hpcbd_child_start */
    hpcbd_child_t *child;
} hpcbd_worker_t;

/* Like those of a hpcbd_part_t, for a part that has more functions.  The child has the
 * configuration of its start: it is ended and restarted when that is read again. */
int hpcbd_worker_start(hpcbd_worker_t *worker, hpcbd_t *daemon, hpcb_error_t *err);
void hpcbd_worker_reload(hpcbd_worker_t *worker, hpcbd_t *daemon);
void hpcbd_worker_stop(hpcbd_worker_t *worker);

#endif
