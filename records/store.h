/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Records of nodes go into the database, and become runs of jobs there.
 *
 *   hpcb_store_open ... hpcb_store_add ... hpcb_store_commit ... hpcb_store_close
 *
 * A run is published when all of its nodes have reported or when it has waited long
 * enough: it gets a number, run.seq, that is larger than all before.  If something
 * changes it later it gets another one.
 */
#ifndef HPCB_RECORDS_STORE_H
#define HPCB_RECORDS_STORE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/record_json.h"

typedef struct hpcb_store hpcb_store_t;

/* Since it was opened; committed, but for failures. */
typedef struct {
    uint64_t records;    /* node records that were new */
    uint64_t duplicates; /* that were known */
    uint64_t runs;       /* runs that were published … */
    uint64_t incomplete; /* … without all nodes */
    uint64_t failures;   /* openings and commits that were tried and failed */
} hpcb_store_stats_t;

/* The store of dir (CollectorDir), which is opened when it is needed.  repairs: a
 * damaged database is moved aside; only the collector may.  NULL with err if memory
 * runs out. */
hpcb_store_t *hpcb_store_new(const char *dir, bool repairs, hpcb_error_t *err);
void hpcb_store_free(hpcb_store_t *store);

/*
 * Open the database unless it is open.  now_ms is of a clock that only goes forward,
 * here and below.  0; -1 with err and errno EAGAIN: the last attempt has failed, the
 * next one is not due yet; EIO: this one has failed.  After a failure the disk is tried
 * again 1 s later, then after twice the time, up to 30 s.
 */
int hpcb_store_open(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err);

/* One line for people about a database that was damaged and repaired when it was
 * opened, or "".  It is forgotten then. */
const char *hpcb_store_repaired(hpcb_store_t *store);

/*
 * Take the record of a node; it may be acknowledged after the next hpcb_store_commit.
 * 1; 0: it was known; or -1 with err and errno EINVAL: no record; EAGAIN: nothing is
 * taken at the moment; EIO: what was added since the last commit is forgotten.
 */
int hpcb_store_add(hpcb_store_t *store, hpcb_rjson_t *record, uint64_t now_ms,
                   hpcb_error_t *err);

/* Publish runs whose first node has reported before now_ms - wait_ms with the next
 * commit.  0 or -1 as hpcb_store_add. */
int hpcb_store_expire(hpcb_store_t *store, uint64_t now_ms, uint64_t wait_ms,
                      hpcb_error_t *err);

/* Publish the run of the record that was added last with the next commit, complete or
 * not, as one whose AdminComment was written long ago: with a seq below 0.  0 or -1 as
 * hpcb_store_add. */
int hpcb_store_publish_old(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err);

/* Write what was added to disk.  0 (also if nothing was); or -1 with err: all that was
 * added since the last commit is forgotten and must not be acknowledged. */
int hpcb_store_commit(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err);

/* Forget what was added since the last commit. */
void hpcb_store_rollback(hpcb_store_t *store);

/* Runs that wait for nodes. */
uint64_t hpcb_store_pending(const hpcb_store_t *store);

const hpcb_store_stats_t *hpcb_store_stats(const hpcb_store_t *store);

/* The database while it is open, or NULL. */
sqlite3 *hpcb_store_database(const hpcb_store_t *store);

#endif
