/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Number of refused credentials of each origin in the present second. */
#ifndef HPCB_HPCBD_COLLECTOR_LIMIT_H
#define HPCB_HPCBD_COLLECTOR_LIMIT_H

#include <stdbool.h>
#include "hpcbd/collector/conn.h"

/* Refused credentials per second after which an origin is ignored. */
#define HPCBD_LIMIT_REFUSED 10

/* Maximum number of origins; more do not occur in a second, because munged takes about
 * a millisecond for each. */
#define HPCBD_LIMIT_ORIGINS 1024

/* All zero: empty. */
typedef struct {
    uint64_t second;
    size_t count;
    struct {
        hpcbd_origin_t origin;
        unsigned refused;
    } of[HPCBD_LIMIT_ORIGINS];
} hpcbd_limit_t;

/* Count a refused credential of origin.  now_ms: hpcbd_now_ms. */
void hpcbd_limit_note(hpcbd_limit_t *limit, const hpcbd_origin_t *origin,
                      uint64_t now_ms);

/* Return whether origin has reached the limit in this second. */
bool hpcbd_limit_reached(const hpcbd_limit_t *limit, const hpcbd_origin_t *origin,
                         uint64_t now_ms);

#endif
