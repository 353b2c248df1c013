/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The process that keeps the collector's records: the only one that writes the
 * database.  A disk takes its time; the collector's loop does not wait for it.
 */
#ifndef HPCB_HPCBD_COLLECTOR_KEEPER_H
#define HPCB_HPCBD_COLLECTOR_KEEPER_H

#include "hpcbd/records/sealer.h"

/*
 * Calls of the keeper are texts:
 *
 *   R and a request     (hpcbd/records/wire.h) The result is the answer, and what it
 *                       says is on disk.  EPERM: it is no request; EAGAIN: nothing of
 *                       it is kept.
 *   T and a number      Publish runs that have waited for so many milliseconds.  The
 *                       result has the numbers of hpcbd_keeper_totals_t.
 *
 * Requests that came while the disk was busy share one commit.
 */
#define HPCBD_KEEPER_REQUEST 'R'
#define HPCBD_KEEPER_TICK    'T'

/* Since the keeper was started, but for pending. */
typedef struct {
    uint64_t requests, malformed, refused;
    uint64_t records, duplicates, runs, incomplete, failures;
    uint64_t pending;
} hpcbd_keeper_totals_t;

/* Start it over dir (CollectorDir).  NULL with err. */
hpcbd_sealer_t *hpcbd_keeper_start(hpcb_loop_t *loop, const char *dir,
                                   hpcb_error_t *err);

/* Read the result of a tick.  0, or -1. */
int hpcbd_keeper_totals(const char *text, hpcbd_keeper_totals_t *totals);

#endif
