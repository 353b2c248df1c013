/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Position of a reader of the database of records: run.seq of the last run that it has
 * processed, in a file of its own in CollectorDir.
 */
#ifndef HPCB_HPCBD_COLLECTOR_POSITION_H
#define HPCB_HPCBD_COLLECTOR_POSITION_H

#include <sqlite3.h>
#include <stdint.h>
#include "common/error.h"

/* Read the position from dir/name; 0 if there is none, or one of an earlier release.
 * Return 0, or -1 with err. */
int hpcbd_position_load(const char *dir, const char *name, int64_t *position,
                        hpcb_error_t *err);

/* Write it.  Return 0, or -1 with err. */
int hpcbd_position_save(const char *dir, const char *name, int64_t position,
                        hpcb_error_t *err);

/* Set a position after the end of the database, which was replaced by a new one then,
 * to its end. */
void hpcbd_position_check(sqlite3 *db, int64_t *position);

#endif
