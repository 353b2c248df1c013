/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What the collector knows: runs whose nodes have not all reported (in memory, and in
 * CollectorDir/journal.jsonl), and runs that are written (CollectorDir/records).
 */
#ifndef HPCB_HPCBD_COLLECTOR_STORE_H
#define HPCB_HPCBD_COLLECTOR_STORE_H

#include "common/jobrecord.h"

/* Runs that wait take no more memory than this, give or take one message; then the
 * oldest ones are written as they are. */
#define HPCBD_PENDING_BYTES (64u * 1024 * 1024)

typedef struct hpcbd_store hpcbd_store_t;

typedef struct {
    uint64_t records;    /* node records that were new */
    uint64_t duplicates; /* that were known */
    uint64_t runs;       /* lines of runs that were written … */
    uint64_t incomplete; /* … without all nodes */
    uint64_t failures;   /* commits that were tried and failed */
} hpcbd_store_stats_t;

/* Read what is in dir (CollectorDir), which is made.  now_ms is of a clock that only
 * goes forward, here and below.  NULL with err. */
hpcbd_store_t *hpcbd_store_open(const char *dir, uint64_t now_ms, hpcb_error_t *err);
void hpcbd_store_close(hpcbd_store_t *store);

/* Take the record of a node; it may be acknowledged after the next hpcbd_store_commit.
 * 0; or -1 with err and errno EINVAL: no record, EAGAIN (the last commit has failed),
 * ENOMEM, EIO and others: try again later. */
int hpcbd_store_add(hpcbd_store_t *store, hpcb_rjson_t *record, uint64_t now_ms,
                    hpcb_error_t *err);

/* Runs whose first node has reported before now_ms - wait_ms are written by the next
 * commit. */
void hpcbd_store_expire(hpcbd_store_t *store, uint64_t now_ms, uint64_t wait_ms);

/* Write all that was added to disk.  0; or -1 with err: nothing that was added since
 * the last commit that succeeded may be acknowledged.  The store keeps it and takes no
 * more until a commit succeeds.  After a failure the disk is tried again 1 s later,
 * then after twice the time, up to 30 s; calls before that return -1 at once. */
int hpcbd_store_commit(hpcbd_store_t *store, uint64_t now_ms, hpcb_error_t *err);

/* Whether there is something to commit. */
bool hpcbd_store_dirty(const hpcbd_store_t *store);

/* Runs that wait for nodes. */
size_t hpcbd_store_pending(const hpcbd_store_t *store);

const hpcbd_store_stats_t *hpcbd_store_stats(const hpcbd_store_t *store);

#endif
