/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The database of records, CollectorDir/records/records.db: schema, versions and repair
 * (doc/records-database.md).  SQLite 3.34 or later.
 *
 * A process that has forked since it opened a database must neither use it nor open it
 * again, because SQLite's locks belong to processes.
 */
#ifndef HPCB_RECORDS_DATABASE_H
#define HPCB_RECORDS_DATABASE_H

#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/error.h"

/* PRAGMA application_id: "HPCB". */
#define HPCB_DATABASE_ID 0x48504342

/* PRAGMA user_version.  New columns that may be NULL do not change it. */
#define HPCB_DATABASE_VERSION 2

/* Names below CollectorDir. */
#define HPCB_DATABASE_DIR  "records"
#define HPCB_DATABASE_FILE HPCB_DATABASE_DIR "/records.db"

/* Get DIR/records/records.db.  Return 0, or -1 with err. */
int hpcb_database_path(const char *dir, char path[static PATH_MAX], hpcb_error_t *err);

/*
 * Open the database of CollectorDir for writing.  It and its directory are created if
 * they are missing; one of an earlier release is upgraded.  If it is damaged and
 * repaired is not NULL, it is renamed, readable rows are copied to a new one, and
 * *repaired is set, with one line in err.  Return NULL with err and nothing lost on
 * failure: try again later.  If *repaired is set on entry, indexes are tested as well
 * as pages, because of an earlier error.
 */
sqlite3 *hpcb_database_open(const char *dir, bool *repaired, hpcb_error_t *err);

/* Open it for reading, also as a user who may not write.  Return NULL with err and
 * errno (ENOENT: there is none). */
sqlite3 *hpcb_database_open_reader(const char *dir, hpcb_error_t *err);

/* Run statements without a result.  Return 0, or -1 with err. */
int hpcb_database_run(sqlite3 *db, const char *sql, hpcb_error_t *err);

/* Get the first column of the first row; 0 if there is none.  Return 0, or -1 with
 * err. */
int hpcb_database_number(sqlite3 *db, const char *sql, int64_t *value,
                         hpcb_error_t *err);

/* Describe the last failure of db with the file's name.  Always return -1. */
int hpcb_database_error(sqlite3 *db, hpcb_error_t *err);

/* Return whether a result code of SQLite means that the file is damaged. */
bool hpcb_database_is_damage(int code);

/* Test all pages and indexes, and that each row of a node has its run.  Return 0; 1
 * with err if it is damaged; -1 with err if it cannot be read. */
int hpcb_database_verify(sqlite3 *db, hpcb_error_t *err);

#endif
