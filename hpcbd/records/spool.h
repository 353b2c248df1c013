/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Records that wait on a node: SpoolDir/records, and StateDir/records for those that
 * have not reached the spool yet.  Epilogs write them (hpcbctl/job/kept.h), one process
 * reads them.
 */
#ifndef HPCB_HPCBD_RECORDS_SPOOL_H
#define HPCB_HPCBD_RECORDS_SPOOL_H

#include <sys/stat.h>
#include "common/conf.h"
#include "hpcbd/records/wire.h"

/* Sent records stay in SpoolDir/sent up to this number, plus or minus the batch of one
 * message.  Their names matter, because a repeated epilog looks for them, so a file may
 * be empty. */
#define HPCBD_SENT_KEPT 1000

typedef struct {
    char name[HPCBD_ID_MAX]; /* of the file, and ID of the record in messages */
    const char *dir;         /* SpoolDir or StateDir */
    ino_t inode;             /* of the file that was read: an epilog may replace it */
} hpcbd_waiting_t;

typedef struct {
    const char *spool_dir, *state_dir;
    size_t count;
    hpcbd_waiting_t waiting[HPCBD_BATCH_RECORDS];
} hpcbd_spool_t;

/* Initialize an empty batch of these directories, which are created if missing. */
void hpcbd_spool_open(hpcbd_spool_t *spool, const hpcb_conf_t *conf);

/* Read the next batch into request.  Records that can never be sent (no JSON, too long)
 * are moved to SpoolDir/refused, or renamed to FILE.refused if that is another file
 * system.  Files that a killed writer left there a day ago are removed.  Return the
 * number of records, or -1 with err. */
int hpcbd_spool_read(hpcbd_spool_t *spool, hpcb_rjson_t *request, hpcb_error_t *err);

/* Finish a record of the batch: move its file to SpoolDir/sent, or remove it and
 * create an empty one there if that is another file system.  A refused one is moved as
 * above. */
void hpcbd_spool_settle(hpcbd_spool_t *spool, const char *id, hpcbd_verdict_t verdict);

/* Remove the oldest files of SpoolDir/sent beyond HPCBD_SENT_KEPT.  If the spool is
 * short of space all are truncated, if it is short of inodes removed, because unsent
 * records are more important. */
void hpcbd_spool_prune(const hpcbd_spool_t *spool);

#endif
