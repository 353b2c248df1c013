/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A damaged database of records: out of the way, and what is whole of it kept. */
#ifndef HPCB_RECORDS_SALVAGE_H
#define HPCB_RECORDS_SALVAGE_H

#include <limits.h>
#include <sqlite3.h>
#include "common/error.h"

/* Rename path, and the log beside it, to PATH.damaged-<time>, which is written to
 * aside.  0, or -1 with err. */
int hpcb_salvage_aside(const char *path, char aside[static PATH_MAX],
                       hpcb_error_t *err);

/* Copy each row of the database aside that can be read into db, which is new, and put a
 * line about it, damage included, into err.  0; or -1 with err: db cannot be written.
 */
int hpcb_salvage(const char *aside, sqlite3 *db, const hpcb_error_t *damage,
                 hpcb_error_t *err);

#endif
