/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Records of nodes in the database, combined into runs of jobs.
 *
 *   hpcb_store_open ... hpcb_store_add ... hpcb_store_commit ... hpcb_store_close
 *
 * A run is published when all of its nodes have reported or it has waited long enough:
 * it gets a number, run.seq, larger than all earlier ones.  It gets another one if it
 * changes later.
 */
#ifndef HPCB_RECORDS_STORE_H
#define HPCB_RECORDS_STORE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/record_json.h"

typedef struct hpcb_store hpcb_store_t;

/* Since it was opened; committed, except failures. */
typedef struct {
    uint64_t records;    /* new ones, of nodes */
    uint64_t duplicates; /* already known */
    uint64_t runs;       /* published runs … */
    uint64_t incomplete; /* … without all nodes */
    uint64_t failures;   /* failed attempts to open or commit */
} hpcb_store_stats_t;

/* Create the store of dir (CollectorDir), which is opened on demand.  repairs: a
 * damaged database is renamed and salvaged; for the collector only.  Return NULL with
 * err if memory is short. */
hpcb_store_t *hpcb_store_new(const char *dir, bool repairs, hpcb_error_t *err);
void hpcb_store_free(hpcb_store_t *store);

/*
 * Open the database unless it is open.  now_ms is of a monotonic clock, here and
 * below.  Return 0; -1 with err and errno EAGAIN: the last attempt has failed, the next
 * one is not due yet; EIO: this one has failed.  After a failure the next attempt is 1
 * s later, then after twice the time, up to 30 s.
 */
int hpcb_store_open(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err);

/* Return one line about a database that was found damaged and repaired when it was
 * opened, or "".  It is returned once. */
const char *hpcb_store_repaired(hpcb_store_t *store);

/*
 * Add the record of a node; acknowledge it after the next hpcb_store_commit.  Return 1;
 * 0 if it was known; or -1 with err and errno EINVAL: no record; EAGAIN: try again
 * later; EIO: all records since the last commit are lost.
 */
int hpcb_store_add(hpcb_store_t *store, hpcb_rjson_t *record, uint64_t now_ms,
                   hpcb_error_t *err);

/* Publish with the next commit runs whose first node has reported before now_ms -
 * wait_ms.  Return 0 or -1 as hpcb_store_add. */
int hpcb_store_expire(hpcb_store_t *store, uint64_t now_ms, uint64_t wait_ms,
                      hpcb_error_t *err);

/* Publish with the next commit the run of the record that was added last, complete or
 * not, as one whose AdminComment was written long ago: with a seq below 0.  Return 0 or
 * -1 as hpcb_store_add. */
int hpcb_store_publish_old(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err);

/* Commit to disk.  Return 0 (also if nothing was added); or -1 with err: all records
 * since the last commit are lost and must not be acknowledged. */
int hpcb_store_commit(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err);

/* Drop all records since the last commit. */
void hpcb_store_rollback(hpcb_store_t *store);

/* Return the number of runs that wait for nodes. */
uint64_t hpcb_store_pending(const hpcb_store_t *store);

const hpcb_store_stats_t *hpcb_store_stats(const hpcb_store_t *store);

/* Return the database while it is open, or NULL. */
sqlite3 *hpcb_store_database(const hpcb_store_t *store);

#endif
