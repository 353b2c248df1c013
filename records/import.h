/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Records in JSON Lines, as earlier releases kept them, go into the database. */
#ifndef HPCB_RECORDS_IMPORT_H
#define HPCB_RECORDS_IMPORT_H

#include <stdio.h>
#include "records/store.h"

typedef struct {
    uint64_t records; /* of nodes that were new */
    uint64_t known;   /* that were there */
    uint64_t refused; /* lines that are no records */
} hpcb_import_t;

/*
 * Add each line of stream: a run of a job with its nodes, or the record of a node.
 * waits: records of nodes are not published before their run is complete (the journal
 * of earlier releases).  What is known changes nothing, so an import may be repeated.
 * 0, totals updated; or -1 with err: the database takes nothing, or reading fails.
 */
int hpcb_import_stream(hpcb_store_t *store, FILE *stream, bool waits,
                       hpcb_import_t *totals, hpcb_error_t *err);

/*
 * Take over what an earlier release has left in dir (CollectorDir): each
 * records/YYYY-MM-DD.jsonl, and journal.jsonl.  A file that is in the database is moved
 * to records/imported/.  The number of files, 0 if there are none; or -1 with err.
 */
int hpcb_import_old(hpcb_store_t *store, const char *dir, hpcb_import_t *totals,
                    hpcb_error_t *err);

#endif
