/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Salvage of a damaged database of records: renames it and copies its readable rows. */
#ifndef HPCB_RECORDS_SALVAGE_H
#define HPCB_RECORDS_SALVAGE_H

#include <limits.h>
#include <sqlite3.h>
#include "common/error.h"

/* Rename path, and its log, to PATH.damaged-<time>, which is written to aside.  Return
 * 0, or -1 with err. */
int hpcb_salvage_aside(const char *path, char aside[static PATH_MAX],
                       hpcb_error_t *err);

/* Copy each readable row of the database aside to db, which is new, and write a line
 * about it, with damage, to err.  Return 0; or -1 with err if db cannot be written. */
int hpcb_salvage(const char *aside, sqlite3 *db, const hpcb_error_t *damage,
                 hpcb_error_t *err);

#endif
