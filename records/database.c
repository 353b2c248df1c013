/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/record.h"
#include "common/record_fields.h"
#include "records/database.h"
#include "records/salvage.h"

/* For hpcbctl records vacuum, or another that writes. */
#define BUSY_MS 10000

#define READER_BUSY_MS 2000

/* FULL: a commit is on disk when it returns.  The log is kept when the database is
 * closed, so that those who may only read find one. */
static const char settings[] = "PRAGMA foreign_keys = OFF;"
                               "PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = FULL;"
                               "PRAGMA temp_store = MEMORY;"
                               "PRAGMA cache_size = -16000;"
                               "PRAGMA journal_size_limit = 67108864;";

int hpcb_database_path(const char *dir, char path[static PATH_MAX], hpcb_error_t *err)
{
    if (snprintf(path, PATH_MAX, "%s/" HPCB_DATABASE_FILE, dir) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return hpcb_error(err, "CollectorDir=%.200s is too long", dir);
}

int hpcb_database_error(sqlite3 *db, hpcb_error_t *err)
{
    const char *name = sqlite3_db_filename(db, "main");
    int code = sqlite3_extended_errcode(db), system = sqlite3_system_errno(db);

    hpcb_error(err, "%.200s: %.200s%s%s", name && *name ? name : "the database",
               sqlite3_errmsg(db), (code & 0xff) == SQLITE_IOERR && system ? ": " : "",
               (code & 0xff) == SQLITE_IOERR && system ? strerror(system) : "");
    errno = EIO;
    return -1;
}

bool hpcb_database_is_damage(int code)
{
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

int hpcb_database_run(sqlite3 *db, const char *sql, hpcb_error_t *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) ? hpcb_database_error(db, err) : 0;
}

int hpcb_database_number(sqlite3 *db, const char *sql, int64_t *value,
                         hpcb_error_t *err)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW || code == SQLITE_DONE) {
        *value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
        sqlite3_finalize(statement);
        return 0;
    }
    hpcb_database_error(db, err);
    sqlite3_finalize(statement);
    return -1;
}

/* ---- The schema ---- */

static void add_column(sqlite3_str *sql, const hpcb_field_t *field)
{
    static const struct {
        const char *affinity, *kinds, *range;
    } types[] = {
        [HPCB_FIELD_TEXT] = {"TEXT", "'text'", ""},
        [HPCB_FIELD_COUNT] = {"INTEGER", "'integer'", " AND \"%w\" >= 0"},
        [HPCB_FIELD_BOOL] = {"INTEGER", "'integer'", " AND \"%w\" BETWEEN 0 AND 1"},
        [HPCB_FIELD_NUMBER] = {"REAL", "'real'", " AND \"%w\" BETWEEN 0 AND 1e15"},
        [HPCB_FIELD_SIGNED] = {"REAL", "'real'", " AND \"%w\" BETWEEN -1e15 AND 1e15"},
        [HPCB_FIELD_JSON] = {"TEXT", "'text'", ""},
    };

    sqlite3_str_appendf(sql, "\"%w\" %s%s CHECK (typeof(\"%w\") IN (%s%s)", field->name,
                        types[field->type].affinity, field->required ? " NOT NULL" : "",
                        field->name, types[field->type].kinds,
                        field->required ? "" : ", 'null'");
    sqlite3_str_appendf(sql, types[field->type].range, field->name);
    sqlite3_str_appendall(sql, ")");
}

static void add_table(sqlite3_str *sql, hpcb_field_table_t table, const char *name,
                      const char *before, const char *after)
{
    sqlite3_str_appendf(sql, "CREATE TABLE %s (\n  %s", name, before);
    for (size_t i = 0; i < hpcb_n_fields; i++) {
        if (hpcb_fields[i].table != table)
            continue;
        sqlite3_str_appendall(sql, ",\n  ");
        add_column(sql, &hpcb_fields[i]);
    }
    sqlite3_str_appendf(sql, ",\n  %s\n);\n", after);
}

/* seq is NULL while a run waits for nodes, and grows with each change then.  Slurm may
 * give an id again, but not in the same second. */
static void add_run_table(sqlite3_str *sql, const char *name)
{
    add_table(sql, HPCB_FIELD_RUN, name,
              "id INTEGER PRIMARY KEY,\n  seq INTEGER UNIQUE",
              "UNIQUE (cluster, job_id, restart, submit)");
}

static const char run_indexes[] =
    "CREATE INDEX run_end ON run (\"end\") WHERE seq IS NOT NULL;\n"
    "CREATE INDEX run_again ON run (cluster, job_id) WHERE restart > 0;\n"
    "CREATE INDEX run_alone ON run (job_id) WHERE class = 'primary' AND"
    " guests_beside IS NULL;\n";

/* The statements that make the schema; the caller frees them with sqlite3_free.  NULL
 * if memory runs out. */
static char *make_schema(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    add_run_table(sql, "run");
    add_table(sql, HPCB_FIELD_NODE, "node",
              "run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE",
              "PRIMARY KEY (run, node)");
    sqlite3_str_appendall(sql, run_indexes);
    sqlite3_str_appendall(
        sql, "CREATE TABLE field (\n  tbl TEXT NOT NULL,\n  name TEXT NOT NULL,\n"
             "  place INTEGER NOT NULL,\n  type TEXT NOT NULL,\n  unit TEXT NOT NULL,\n"
             "  what TEXT NOT NULL,\n  PRIMARY KEY (tbl, name)\n);\n");
    sqlite3_str_appendf(sql, "PRAGMA application_id = %d;\nPRAGMA user_version = %d;\n",
                        HPCB_DATABASE_ID, HPCB_DATABASE_VERSION);
    return sqlite3_str_finish(sql);
}

static int describe_field(sqlite3 *db, size_t place, hpcb_error_t *err)
{
    const hpcb_field_t *field = &hpcb_fields[place];
    char *sql = sqlite3_mprintf(
        "INSERT INTO field VALUES (%Q, %Q, %d, %Q, %Q, %Q)"
        " ON CONFLICT (tbl, name) DO UPDATE SET place = excluded.place,"
        " type = excluded.type, unit = excluded.unit, what = excluded.what"
        " WHERE (place, type, unit, what) IS NOT"
        " (excluded.place, excluded.type, excluded.unit, excluded.what)",
        hpcb_field_table_name(field->table), field->name, (int)place,
        hpcb_field_type_name(field->type), field->unit, field->what);
    int status = sql ? hpcb_database_run(db, sql, err) : hpcb_error(err, "no memory");

    sqlite3_free(sql);
    return status;
}

/* What a later release has written for its own fields stays. */
static int describe_fields(sqlite3 *db, hpcb_error_t *err)
{
    for (size_t i = 0; i < hpcb_n_fields; i++)
        if (describe_field(db, i, err))
            return -1;
    return 0;
}

static int create(sqlite3 *db, hpcb_error_t *err)
{
    char *schema = make_schema();
    int status =
        schema ? hpcb_database_run(db, schema, err) : hpcb_error(err, "out of memory");

    sqlite3_free(schema);
    return status;
}

static int add_missing_column(sqlite3 *db, const hpcb_field_t *field, hpcb_error_t *err)
{
    const char *table = hpcb_field_table_name(field->table);
    sqlite3_str *sql;
    char *text;
    int status;

    if (sqlite3_table_column_metadata(db, "main", table, field->name, NULL, NULL, NULL,
                                      NULL, NULL) == SQLITE_OK)
        return 0;
    sql = sqlite3_str_new(db);
    sqlite3_str_appendf(sql, "ALTER TABLE %s ADD COLUMN ", table);
    add_column(sql, field);
    text = sqlite3_str_finish(sql);
    status = text ? hpcb_database_run(db, text, err) : hpcb_error(err, "out of memory");
    sqlite3_free(text);
    return status;
}

static int add_missing_columns(sqlite3 *db, hpcb_error_t *err)
{
    for (size_t i = 0; i < hpcb_n_fields; i++)
        if (add_missing_column(db, &hpcb_fields[i], err))
            return -1;
    return 0;
}

static void add_run_columns(sqlite3_str *sql)
{
    sqlite3_str_appendall(sql, "id, seq");
    for (size_t i = 0; i < hpcb_n_fields; i++)
        if (hpcb_fields[i].table == HPCB_FIELD_RUN)
            sqlite3_str_appendf(sql, ", \"%w\"", hpcb_fields[i].name);
}

/* In version 1 submit was not part of the key, which cannot be changed: all rows go
 * into another table.  https://sqlite.org/lang_altertable.html, section 7. */
static int renew_key(sqlite3 *db, hpcb_error_t *err)
{
    sqlite3_str *sql = sqlite3_str_new(db);
    char *text;
    int status;

    add_run_table(sql, "renewed");
    sqlite3_str_appendall(sql, "INSERT INTO renewed (");
    add_run_columns(sql);
    sqlite3_str_appendall(sql, ") SELECT ");
    add_run_columns(sql);
    sqlite3_str_appendall(sql, " FROM run ORDER BY id;\nDROP TABLE run;\n"
                               "ALTER TABLE renewed RENAME TO run;\n");
    sqlite3_str_appendall(sql, run_indexes);
    sqlite3_str_appendf(sql, "PRAGMA user_version = %d;\n", HPCB_DATABASE_VERSION);
    text = sqlite3_str_finish(sql);
    status = text ? hpcb_database_run(db, text, err) : hpcb_error(err, "out of memory");
    sqlite3_free(text);
    return status;
}

static int check_version(sqlite3 *db, int64_t *version, hpcb_error_t *err)
{
    int64_t id, tables;

    if (hpcb_database_number(db, "PRAGMA application_id", &id, err) ||
        hpcb_database_number(db, "PRAGMA user_version", version, err) ||
        hpcb_database_number(db, "SELECT count(*) FROM sqlite_master", &tables, err))
        return -1;
    if (id != HPCB_DATABASE_ID && (id || *version || tables))
        return hpcb_error(err, "%.300s is another program's database",
                          sqlite3_db_filename(db, "main"));
    if (*version > HPCB_DATABASE_VERSION)
        return hpcb_error(err, "%.300s is of version %d; this release writes %d",
                          sqlite3_db_filename(db, "main"), (int)*version,
                          HPCB_DATABASE_VERSION);
    return 0;
}

/* Bring the schema up to date, all or nothing.  Foreign keys are not enforced yet: a
 * table that is dropped takes nothing with it. */
static int migrate(sqlite3 *db, hpcb_error_t *err)
{
    int64_t version;

    if (hpcb_database_run(db, "BEGIN IMMEDIATE", err))
        return -1;
    if (check_version(db, &version, err) == 0 &&
        (version > 0 || create(db, err) == 0) && add_missing_columns(db, err) == 0 &&
        (version == 0 || version == HPCB_DATABASE_VERSION || renew_key(db, err) == 0) &&
        describe_fields(db, err) == 0 && hpcb_database_run(db, "COMMIT", err) == 0)
        return 0;
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

/* ---- Opening ---- */

/* SQLite gives its other files the mode and the owner of the database. */
static int make_file(const char *dir, const char *path, hpcb_error_t *err)
{
    char records[PATH_MAX];
    hpcb_autoclose int fd = -1, place = -1;

    if (access(path, F_OK) == 0)
        return 0;
    snprintf(records, sizeof(records), "%.*s", (int)(strrchr(path, '/') - path), path);
    if (hpcb_file_mkdirs(dir, 0755, err) ||
        hpcb_file_mkdirs(records, HPCB_RECORD_DIR_MODE, err))
        return -1;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, HPCB_RECORD_MODE);
    place = open(records, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || place < 0 || fsync(place))
        return hpcb_error(err, "%.300s: %s", path, strerror(errno));
    return 0;
}

static sqlite3 *open_file(const char *path, int flags, int busy_ms, hpcb_error_t *err)
{
    sqlite3 *db = NULL;

    if (sqlite3_open_v2(path, &db, flags, NULL)) {
        if (db)
            hpcb_database_error(db, err);
        else
            hpcb_error(err, "out of memory");
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_busy_timeout(db, busy_ms);
    return db;
}

static int check_pages(sqlite3 *db, const char *pragma, hpcb_error_t *err)
{
    sqlite3_stmt *statement = NULL;
    const char *said;
    int status = -1;

    if (sqlite3_prepare_v2(db, pragma, -1, &statement, NULL) ||
        sqlite3_step(statement) != SQLITE_ROW) {
        hpcb_database_error(db, err);
        status = hpcb_database_is_damage(sqlite3_errcode(db)) ? 1 : -1;
    } else {
        said = (const char *)sqlite3_column_text(statement, 0);
        status = !said || strcmp(said, "ok") != 0;
        if (status)
            hpcb_error(err, "%.200s is damaged: %.200s",
                       sqlite3_db_filename(db, "main"), said ? said : "no memory");
    }
    sqlite3_finalize(statement);
    return status;
}

int hpcb_database_verify(sqlite3 *db, hpcb_error_t *err)
{
    int64_t orphans = 0;
    int status = check_pages(db, "PRAGMA integrity_check(1)", err);

    if (status)
        return status;
    if (hpcb_database_number(db,
                             "SELECT count(*) FROM node WHERE run NOT IN"
                             " (SELECT id FROM run)",
                             &orphans, err))
        return -1;
    if (!orphans)
        return 0;
    hpcb_error(err, "%.200s: %lld records of nodes have no run",
               sqlite3_db_filename(db, "main"), (long long)orphans);
    return 1;
}

/* 0; 1 with err: damaged; -1 with err. */
static int prepare(sqlite3 *db, bool suspect, hpcb_error_t *err)
{
    int persist = 1;
    int status;

    sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
    status = hpcb_database_run(db, settings, err);
    if (status == 0)
        status = check_pages(
            db, suspect ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(1)", err);
    if (status == 0)
        status = migrate(db, err);
    if (status == 0)
        status = hpcb_database_run(db, "PRAGMA foreign_keys = ON", err);
    if (status < 0 && hpcb_database_is_damage(sqlite3_errcode(db)))
        status = 1;
    return status;
}

/* *damaged on entry: something was wrong before. */
static sqlite3 *open_prepared(const char *dir, const char *path, bool *damaged,
                              hpcb_error_t *err)
{
    sqlite3 *db = NULL;
    int status = 0;

    if (make_file(dir, path, err) == 0)
        db = open_file(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, BUSY_MS, err);
    if (db)
        status = prepare(db, *damaged, err);
    *damaged = status > 0;
    if (db && status == 0)
        return db;
    sqlite3_close(db);
    errno = EIO;
    return NULL;
}

sqlite3 *hpcb_database_open(const char *dir, bool *repaired, hpcb_error_t *err)
{
    char path[PATH_MAX], aside[PATH_MAX];
    hpcb_error_t damage = {""};
    bool damaged = repaired && *repaired;
    sqlite3 *db;

    if (repaired)
        *repaired = false;
    if (hpcb_database_path(dir, path, err))
        return NULL;
    db = open_prepared(dir, path, &damaged, err);
    if (!damaged || !repaired)
        return db;
    if (err)
        damage = *err;
    if (hpcb_salvage_aside(path, aside, err))
        return NULL;
    db = open_prepared(dir, path, &damaged, err);
    if (db && hpcb_salvage(aside, db, &damage, err) == 0) {
        *repaired = true;
        return db;
    }
    sqlite3_close(db);
    return NULL;
}

/* Without a log nothing is in it, and nobody writes: then the file alone tells all. */
static sqlite3 *open_immutable(const char *path, hpcb_error_t *err)
{
    char wal[PATH_MAX + 8];
    char *uri;
    sqlite3 *db;

    snprintf(wal, sizeof(wal), "%s-wal", path);
    if (access(wal, F_OK) == 0)
        return NULL;
    uri = sqlite3_mprintf("file:%s?immutable=1", path);
    db = uri ? open_file(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, READER_BUSY_MS,
                         err)
             : NULL;
    sqlite3_free(uri);
    return db;
}

sqlite3 *hpcb_database_open_reader(const char *dir, hpcb_error_t *err)
{
    char path[PATH_MAX];
    int64_t id = 0;
    sqlite3 *db;

    if (hpcb_database_path(dir, path, err))
        return NULL;
    if (access(path, R_OK)) {
        hpcb_error(err, "%.300s: %s", path, strerror(errno));
        return NULL;
    }
    db = open_file(path, SQLITE_OPEN_READONLY, READER_BUSY_MS, err);
    if (db && hpcb_database_number(db, "PRAGMA application_id", &id, err)) {
        sqlite3_close(db);
        db = open_immutable(path, err);
        if (db && hpcb_database_number(db, "PRAGMA application_id", &id, err))
            id = 0;
    }
    if (db && id == HPCB_DATABASE_ID)
        return db;
    if (db && id == 0)
        hpcb_error(err, "%.300s holds no records yet", path);
    sqlite3_close(db);
    errno = EIO;
    return NULL;
}
