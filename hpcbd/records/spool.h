/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The records that wait on a node: SpoolDir/records, and StateDir/records for what has
 * not come to the spool yet.  Epilogs write there (hpcbctl/job/kept.h), one process
 * reads.
 */
#ifndef HPCB_HPCBD_RECORDS_SPOOL_H
#define HPCB_HPCBD_RECORDS_SPOOL_H

#include <sys/stat.h>
#include "common/conf.h"
#include "hpcbd/records/wire.h"

/* What has been sent stays in SpoolDir/sent up to this number, give or take the batch
 * of one message.  Its name is what counts: an epilog that is run again finds it.  So
 * a file may be empty. */
#define HPCBD_SENT_KEPT 1000

typedef struct {
    char name[HPCBD_ID_MAX]; /* of the file: the record's id on the wire */
    const char *dir;         /* SpoolDir or StateDir */
    ino_t inode;             /* of what was read: an epilog may replace the file */
} hpcbd_waiting_t;

typedef struct {
    const char *spool_dir, *state_dir;
    size_t count;
    hpcbd_waiting_t waiting[HPCBD_BATCH_RECORDS];
} hpcbd_spool_t;

/* An empty batch of these directories, which it makes where they are missing. */
void hpcbd_spool_open(hpcbd_spool_t *spool, const hpcb_conf_t *conf);

/* Read the next batch into request.  What can never be sent (no JSON, too long) is
 * put aside: in SpoolDir/refused, or as FILE.refused if that is another file system.
 * What a killed writer left there a day ago is removed.
 * Returns the number of records, or -1 with err. */
int hpcbd_spool_read(hpcbd_spool_t *spool, hpcb_rjson_t *request, hpcb_error_t *err);

/* A record of the batch needs no sending any more: move its file to SpoolDir/sent, or
 * remove it and leave an empty one there if that is another file system.  One that was
 * refused is put aside. */
void hpcbd_spool_settle(hpcbd_spool_t *spool, const char *id, hpcbd_verdict_t verdict);

/* Remove the oldest files of SpoolDir/sent beyond HPCBD_SENT_KEPT.  Where the spool is
 * short of room they all are emptied, where it is short of inodes removed: what has not
 * been sent comes first. */
void hpcbd_spool_prune(const hpcbd_spool_t *spool);

#endif
