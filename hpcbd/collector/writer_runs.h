/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Runs whose AdminComment is to be written next: those in the database of records with
 * a seq above CollectorDir/writer.pos.
 */
#ifndef HPCB_HPCBD_COLLECTOR_WRITER_RUNS_H
#define HPCB_HPCBD_COLLECTOR_WRITER_RUNS_H

#include <stdint.h>
#include "common/tag.h"

/* Maximum number of runs read at once. */
#define HPCBD_WRITER_RUNS 64

typedef struct {
    hpcb_run_t run;
    int64_t submit; /* seconds since the epoch; 0: not known */
    int64_t seq;
} hpcbd_writer_run_t;

/* Read the position from dir/writer.pos; 0 if there is none, or one of an earlier
 * release.  Return 0, or -1 with err. */
int hpcbd_writer_load(const char *dir, int64_t *position, hpcb_error_t *err);

/* Write it.  Return 0, or -1 with err. */
int hpcbd_writer_save(const char *dir, int64_t position, hpcb_error_t *err);

/* Read the next runs after position, at most `most` (up to HPCBD_WRITER_RUNS), in the
 * order of their seq.  Return their number, 0 also if the database cannot be read.  A
 * position after the end of the database, which was replaced by a new one then, becomes
 * its end. */
int hpcbd_writer_next(const char *dir, int64_t *position,
                      hpcbd_writer_run_t runs[static HPCBD_WRITER_RUNS], int most);

#endif
