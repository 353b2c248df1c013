/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The database of records, CollectorDir/records/records.db: its schema, versions and
 * repair (doc/records-database.md).  SQLite 3.34 or later.
 *
 * A process that has forked since it opened a database must not use it, nor open it
 * again: SQLite's locks belong to processes.
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

/* Below CollectorDir. */
#define HPCB_DATABASE_DIR  "records"
#define HPCB_DATABASE_FILE HPCB_DATABASE_DIR "/records.db"

/* DIR/records/records.db.  0, or -1 with err. */
int hpcb_database_path(const char *dir, char path[static PATH_MAX], hpcb_error_t *err);

/*
 * Open the database of CollectorDir to write to it.  It and its directory are made if
 * they are missing; one of an earlier release is brought up to date.  If it is damaged
 * and repaired is not NULL, it is moved aside, what can be read goes into a new one,
 * and *repaired is set, with one line for people in err.  NULL with err, nothing lost:
 * the caller tries again later.  If *repaired is set on entry, indexes are tested as
 * well as pages: something was wrong before.
 */
sqlite3 *hpcb_database_open(const char *dir, bool *repaired, hpcb_error_t *err);

/* Open it to read; also as a user who may not write.  NULL with err and errno (ENOENT:
 * there is none). */
sqlite3 *hpcb_database_open_reader(const char *dir, hpcb_error_t *err);

/* Run statements that return nothing.  0, or -1 with err. */
int hpcb_database_run(sqlite3 *db, const char *sql, hpcb_error_t *err);

/* The first column of the first row; otherwise 0.  0, or -1 with err. */
int hpcb_database_number(sqlite3 *db, const char *sql, int64_t *value,
                         hpcb_error_t *err);

/* Describe the last failure of db with the file's name.  Always -1. */
int hpcb_database_error(sqlite3 *db, hpcb_error_t *err);

/* Whether a result code of SQLite says that the file is damaged. */
bool hpcb_database_is_damage(int code);

/* Test all pages and indexes, and that each row of a node has its run.  0; 1 with err:
 * damaged; -1 with err: cannot be read. */
int hpcb_database_verify(sqlite3 *db, hpcb_error_t *err);

#endif
