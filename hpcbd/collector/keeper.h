/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The keeper: the process of the collector that alone writes the database of records,
 * so that the collector's loop does not wait for the disk.
 */
#ifndef HPCB_HPCBD_COLLECTOR_KEEPER_H
#define HPCB_HPCBD_COLLECTOR_KEEPER_H

#include "hpcbd/records/sealer.h"

/*
 * Calls of the keeper are texts:
 *
 *   R and a request     (hpcbd/records/wire.h) The result is the answer, and its
 *                       records are on disk.  EPERM: it is no request; EAGAIN: none
 *                       of it is stored.
 *   T and a number      Publish runs that have waited for so many milliseconds.  The
 *                       result has the numbers of hpcbd_keeper_totals_t.
 *
 * Requests that arrive while the disk is busy share one commit.
 */
#define HPCBD_KEEPER_REQUEST 'R'
#define HPCBD_KEEPER_TICK    'T'

/* Since the keeper was started, except pending. */
typedef struct {
    uint64_t requests, malformed, refused;
    uint64_t records, duplicates, runs, incomplete, failures;
    uint64_t pending;
} hpcbd_keeper_totals_t;

/* Start it for dir (CollectorDir).  Return NULL with err on failure. */
hpcbd_sealer_t *hpcbd_keeper_start(hpcb_loop_t *loop, const char *dir,
                                   hpcb_error_t *err);

/* Parse the result of a tick.  Return 0 or -1. */
int hpcbd_keeper_totals(const char *text, hpcbd_keeper_totals_t *totals);

#endif
