/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Rows are read in the order of their rowid.  A page that cannot be read ends the
 * reading: it is taken up again behind it, at growing distances.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/record_fields.h"
#include "records/database.h"
#include "records/salvage.h"

/* Rows that are skipped at once before giving up. */
#define GAP_MAX (INT64_C(1) << 24)

static int move_file(const char *path, const char *aside, const char *suffix)
{
    char from[PATH_MAX + 8], to[PATH_MAX + 8];

    snprintf(from, sizeof(from), "%s%s", path, suffix);
    snprintf(to, sizeof(to), "%s%s", aside, suffix);
    return rename(from, to) && errno != ENOENT ? -1 : 0;
}

int hpcb_salvage_aside(const char *path, char aside[static PATH_MAX], hpcb_error_t *err)
{
    time_t now = time(NULL);
    char stamp[32], shm[PATH_MAX + 8];
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
    if (snprintf(aside, PATH_MAX, "%s.damaged-%s", path, stamp) >= PATH_MAX)
        return hpcb_error(err, "%.300s.damaged: too long", path);
    snprintf(shm, sizeof(shm), "%s-shm", path);
    /* The log first: without it the database is older, never wrong. */
    if (move_file(path, aside, "-wal") || (unlink(shm) && errno != ENOENT) ||
        move_file(path, aside, ""))
        return hpcb_error(err, "%.300s: %s", path, strerror(errno));
    return 0;
}

typedef struct {
    sqlite3 *from, *to;
    const char *table;
    int64_t last, gap, rows;
} copy_t;

/* The columns of table that both databases have, with prefix before the first one. */
static char *common_columns(const copy_t *copy, const char *first)
{
    sqlite3_str *list = sqlite3_str_new(copy->to);

    sqlite3_str_appendall(list, first);
    for (size_t i = 0; i < hpcb_n_fields; i++)
        if (strcmp(hpcb_field_table_name(hpcb_fields[i].table), copy->table) == 0 &&
            sqlite3_table_column_metadata(copy->from, "main", copy->table,
                                          hpcb_fields[i].name, NULL, NULL, NULL, NULL,
                                          NULL) == SQLITE_OK)
            sqlite3_str_appendf(list, ", \"%w\"", hpcb_fields[i].name);
    return sqlite3_str_finish(list);
}

/* 0, or -1: the new database takes nothing.  A row that breaks a rule of the schema is
 * left out. */
static int put_row(copy_t *copy, sqlite3_stmt *row, sqlite3_stmt *insert)
{
    int code;

    for (int i = 1; i < sqlite3_column_count(row); i++)
        sqlite3_bind_value(insert, i, sqlite3_column_value(row, i));
    code = sqlite3_step(insert);
    sqlite3_reset(insert);
    copy->rows += code == SQLITE_DONE && sqlite3_changes(copy->to) > 0;
    return code == SQLITE_DONE || (code & 0xff) == SQLITE_CONSTRAINT ? 0 : -1;
}

/* From the row behind last on, until the end or what cannot be read.  1: the end. */
static int copy_some(copy_t *copy, sqlite3_stmt *select, sqlite3_stmt *insert)
{
    int code;

    sqlite3_reset(select);
    sqlite3_bind_int64(select, 1, copy->last);
    while ((code = sqlite3_step(select)) == SQLITE_ROW) {
        copy->last = sqlite3_column_int64(select, 0);
        copy->gap = 1;
        if (put_row(copy, select, insert))
            return -1;
    }
    return code == SQLITE_DONE;
}

static int copy_all(copy_t *copy, sqlite3_stmt *select, sqlite3_stmt *insert)
{
    int status = 0;

    while (status == 0 && copy->gap < GAP_MAX) {
        status = copy_some(copy, select, insert);
        copy->last += copy->gap;
        copy->gap *= 2;
    }
    return status < 0 ? -1 : 0;
}

static int copy_table(copy_t *copy, const char *table, const char *first)
{
    sqlite3_stmt *select = NULL, *insert = NULL;
    char *columns, *select_sql, *insert_sql;
    int status = 0;

    copy->table = table;
    copy->last = copy->rows = 0;
    copy->gap = 1;
    columns = common_columns(copy, first);
    select_sql = sqlite3_mprintf("SELECT rowid, %s FROM %s WHERE rowid > ?1"
                                 " ORDER BY rowid",
                                 columns, table);
    if (sqlite3_prepare_v2(copy->from, select_sql, -1, &select, NULL) == SQLITE_OK) {
        sqlite3_str *sql = sqlite3_str_new(copy->to);

        sqlite3_str_appendf(sql, "INSERT OR IGNORE INTO %s (%s) VALUES (?", table,
                            columns);
        for (int i = 2; i < sqlite3_column_count(select); i++)
            sqlite3_str_appendall(sql, ", ?");
        sqlite3_str_appendall(sql, ")");
        insert_sql = sqlite3_str_finish(sql);
        status = sqlite3_prepare_v2(copy->to, insert_sql, -1, &insert, NULL) ||
                         copy_all(copy, select, insert)
                     ? -1
                     : 0;
        sqlite3_free(insert_sql);
    }
    sqlite3_finalize(select);
    sqlite3_finalize(insert);
    sqlite3_free(select_sql);
    sqlite3_free(columns);
    return status;
}

static int copy_tables(copy_t *copy, int64_t *runs, int64_t *nodes)
{
    if (copy_table(copy, "run", "id, seq"))
        return -1;
    *runs = copy->rows;
    if (copy_table(copy, "node", "run"))
        return -1;
    *nodes = copy->rows;
    return 0;
}

int hpcb_salvage(const char *aside, sqlite3 *db, const hpcb_error_t *damage,
                 hpcb_error_t *err)
{
    copy_t copy = {.to = db};
    int64_t runs = 0, nodes = 0;
    int status = hpcb_database_run(db, "BEGIN IMMEDIATE", err);

    if (status)
        return -1;
    /* With writable_schema SQLite also reads a file that is shorter than it says. */
    if (sqlite3_open_v2(aside, &copy.from, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                        NULL) == SQLITE_OK &&
        sqlite3_exec(copy.from, "PRAGMA writable_schema = ON", NULL, NULL, NULL) ==
            SQLITE_OK)
        status = copy_tables(&copy, &runs, &nodes);
    sqlite3_close(copy.from);
    if (status || hpcb_database_run(db, "COMMIT", err)) {
        hpcb_database_error(db, err);
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    hpcb_error(err,
               "%.120s; it is now %.150s, and %lld runs with %lld records of nodes "
               "were kept of it",
               damage->text, aside, (long long)runs, (long long)nodes);
    return 0;
}
