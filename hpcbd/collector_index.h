/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Where the last line of a run is in CollectorDir/records: 24 bytes a run in memory,
 * made from the files at start, of which the newest HPCBD_INDEX_MAX runs are known.
 */
#ifndef HPCB_HPCBD_COLLECTOR_INDEX_H
#define HPCB_HPCBD_COLLECTOR_INDEX_H

#include <limits.h>
#include "common/jobrecord.h"

/* A node that sends a record again after so many other runs would have it doubled. */
#define HPCBD_INDEX_MAX 1000000

typedef struct hpcbd_index hpcbd_index_t;

/* Read DIR/records.  NULL with err. */
hpcbd_index_t *hpcbd_index_open(const char *dir, hpcb_error_t *err);
void hpcbd_index_free(hpcbd_index_t *index);

/* The run's last line is at offset of the file of that day ("2026-01-31").  0, or -1
 * when memory runs out. */
int hpcbd_index_put(hpcbd_index_t *index, const hpcb_run_key_t *key, const char *day,
                    uint64_t offset);

/* Set run to the run as its last line has it, which the caller frees, or to NULL where
 * there is none (any more).  0, or -1 with err where the file cannot be read. */
int hpcbd_index_get(const hpcbd_index_t *index, const hpcb_run_key_t *key,
                    hpcb_run_t **run, hpcb_error_t *err);

/* Runs that are known. */
size_t hpcbd_index_count(const hpcbd_index_t *index);

/* DIR/records/DAY.jsonl */
int hpcbd_index_path(const char *dir, const char *day, char path[static PATH_MAX]);

#endif
