/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Import of records in JSON Lines, the format of earlier releases. */
#ifndef HPCB_RECORDS_IMPORT_H
#define HPCB_RECORDS_IMPORT_H

#include <stdio.h>
#include "records/store.h"

typedef struct {
    uint64_t records; /* new ones, of nodes */
    uint64_t known;   /* already in the database */
    uint64_t refused; /* lines that are not records */
} hpcb_import_t;

/*
 * Add each line of stream: a run of a job with its nodes, or the record of a node.
 * waits: records of nodes are published only when their run is complete (the journal of
 * earlier releases).  Known records change nothing, so an import may be repeated.
 * Return 0 with totals updated; or -1 with err: the database cannot be written, or
 * stream cannot be read.
 */
int hpcb_import_stream(hpcb_store_t *store, FILE *stream, bool waits,
                       hpcb_import_t *totals, hpcb_error_t *err);

/*
 * Import the files of an earlier release in dir (CollectorDir): each
 * records/YYYY-MM-DD.jsonl, and journal.jsonl.  Imported files are moved to
 * records/imported/.  Return the number of files, 0 if there are none; or -1 with err.
 */
int hpcb_import_old(hpcb_store_t *store, const char *dir, hpcb_import_t *totals,
                    hpcb_error_t *err);

#endif
