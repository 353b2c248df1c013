/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A record goes this way, in one transaction with others:
 *
 *   add      into the tables run and node.  Of two records of one node the one that has
 *            seen more CPU time counts (an epilog that is run a second time knows
 *            less), else the one that has seen the longer time.
 *
 *            Slurm gives ids again (MaxJobId, slurmctld -c, another StateSaveLocation):
 *            a run is known by its id and when it was submitted.  A node that does not
 *            know the latter belongs to the run that was there at the same time.
 *   commit   what is computed of a run's nodes is computed anew for each run that was
 *            touched; those that are complete, due or published before get a new seq.
 *
 * Runs that wait for nodes are in a temporary table with the time of their first
 * record, on a clock that nobody sets; after a restart they wait anew.
 *
 * What fails rolls everything back: nodes send again what was not acknowledged, and
 * nothing is kept for them in memory.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/record_fields.h"
#include "common/record_parts.h"
#include "records/database.h"
#include "records/store.h"

#define RETRY_FIRST_MS 1000
#define RETRY_MAX_MS   30000

#define NUMBER_MAX 1e15

/* Seconds that clocks of nodes may be apart: a run may be short. */
#define CLOCKS_APART "60"

/* touched.due */
enum { NOT_DUE, IS_DUE, OLD };

enum {
    ADD_RUN,
    FIND_RUN,
    PUT_NODE,
    FILL_RUN,
    TOUCH,
    WAIT,
    EXPIRE,
    DUE,
    TOUCHED,
    COMPUTE,
    PUBLISH,
    ARRIVED,
    N_STATEMENTS
};

struct hpcb_store {
    char dir[PATH_MAX];
    sqlite3 *db;
    sqlite3_stmt *statements[N_STATEMENTS];
    bool repairs, suspect; /* something in the file was wrong */
    bool begun, closing;   /* in a transaction; the file is of no use any more */
    int64_t seq, low;      /* the largest and the smallest that is in use, or 0 */
    int64_t last_run;
    uint64_t pending;
    uint64_t backoff_ms; /* 0: nothing has failed */
    uint64_t retry_ms;   /* nothing is tried before */
    hpcb_store_stats_t stats, batch;
    hpcb_error_t repaired;
};

static const char temporary[] =
    "CREATE TEMP TABLE waiting (run INTEGER PRIMARY KEY, since INTEGER NOT NULL);"
    "CREATE TEMP TABLE touched (run INTEGER PRIMARY KEY, due INTEGER NOT NULL);";

/* ---- Statements, made from the table of fields ---- */

static void add_list(sqlite3_str *sql, hpcb_field_table_t table, const char *prefix)
{
    for (size_t i = 0; i < hpcb_n_fields; i++) {
        const hpcb_field_t *field = &hpcb_fields[i];

        if (field->table != table ||
            (table == HPCB_FIELD_RUN && field->source == HPCB_FIELD_COMPUTED))
            continue;
        if (*prefix == ':' && field->source == HPCB_FIELD_COMPUTED)
            sqlite3_str_appendf(sql, ", %s", field->sql);
        else if (*prefix == ':')
            sqlite3_str_appendf(sql, ", :%s", field->name);
        else
            sqlite3_str_appendf(sql, ", \"%w\"", field->name);
    }
}

static void make_add_run(sqlite3_str *sql)
{
    sqlite3_str_appendall(sql, "INSERT INTO run (id");
    add_list(sql, HPCB_FIELD_RUN, "");
    sqlite3_str_appendall(sql, ") VALUES (NULL");
    add_list(sql, HPCB_FIELD_RUN, ":");
    sqlite3_str_appendall(sql, ")");
}

/* A record that begins when it ends is of an epilog that found no begin: that of the
 * last run so far.  A node's own clock tells its runs apart. */
static void make_find_run(sqlite3_str *sql)
{
    sqlite3_str_appendall(
        sql, "SELECT id FROM run WHERE cluster = :cluster AND job_id = :job_id"
             " AND restart = :restart AND (submit = :submit"
             " OR (submit IS NULL OR :submit IS NULL)"
             " AND EXISTS (SELECT 1 FROM node n WHERE n.run = run.id AND"
             " n.\"begin\" <= :end + " CLOCKS_APART " AND"
             " (n.\"end\" >= :begin - " CLOCKS_APART " OR :begin = :end))"
             " AND (:begin = :end OR NOT EXISTS (SELECT 1 FROM node n WHERE"
             " n.run = run.id AND n.node = :node AND"
             " (n.\"begin\" > :end OR n.\"end\" < :begin))))"
             " ORDER BY submit IS :submit DESC,"
             " (SELECT max(n.\"begin\") FROM node n WHERE n.run = run.id) DESC"
             " LIMIT 1");
}

static void make_put_node(sqlite3_str *sql)
{
    const char *between = "";

    sqlite3_str_appendall(sql, "INSERT INTO node (run");
    add_list(sql, HPCB_FIELD_NODE, "");
    sqlite3_str_appendall(sql, ") VALUES (:run");
    add_list(sql, HPCB_FIELD_NODE, ":");
    sqlite3_str_appendall(sql, ") ON CONFLICT (run, node) DO UPDATE SET ");
    for (size_t i = 0; i < hpcb_n_fields; i++) {
        if (hpcb_fields[i].table != HPCB_FIELD_NODE)
            continue;
        sqlite3_str_appendf(sql, "%s\"%w\" = excluded.\"%w\"", between,
                            hpcb_fields[i].name, hpcb_fields[i].name);
        between = ", ";
    }
    sqlite3_str_appendall(sql, " WHERE (excluded.cpu_seconds, excluded.wall_seconds) >"
                               " (cpu_seconds, wall_seconds)");
}

/* What the first record did not know. */
static void make_fill_run(sqlite3_str *sql)
{
    const char *between = "UPDATE run SET ";

    for (size_t i = 0; i < hpcb_n_fields; i++) {
        const char *name = hpcb_fields[i].name;

        if (hpcb_fields[i].table != HPCB_FIELD_RUN)
            continue;
        if (hpcb_fields[i].source == HPCB_FIELD_FIRST)
            sqlite3_str_appendf(sql, "%s\"%w\" = coalesce(\"%w\", :%s)", between, name,
                                name, name);
        else if (hpcb_fields[i].source == HPCB_FIELD_CLASS)
            sqlite3_str_appendf(
                sql, "%s\"%w\" = CASE class WHEN 'unknown' THEN :%s ELSE \"%w\" END",
                between, name, name, name);
        else
            continue;
        between = ", ";
    }
    sqlite3_str_appendall(sql, " WHERE id = :run");
}

static void make_compute(sqlite3_str *sql)
{
    sqlite3_str *values = sqlite3_str_new(NULL);
    const char *between = "";
    char *text;

    sqlite3_str_appendall(sql, "UPDATE run SET (");
    for (size_t i = 0; i < hpcb_n_fields; i++) {
        if (hpcb_fields[i].table != HPCB_FIELD_RUN ||
            hpcb_fields[i].source != HPCB_FIELD_COMPUTED)
            continue;
        sqlite3_str_appendf(sql, "%s\"%w\"", between, hpcb_fields[i].name);
        sqlite3_str_appendf(values, "%s%s", between, hpcb_fields[i].sql);
        between = ", ";
    }
    text = sqlite3_str_finish(values);
    sqlite3_str_appendf(sql,
                        ") = (SELECT %s FROM node n WHERE n.run = run.id)"
                        " WHERE id = ?1",
                        text ? text : "");
    sqlite3_free(text);
}

static const struct {
    void (*make)(sqlite3_str *sql);
    const char *text;
} recipes[] = {
    [ADD_RUN] = {make_add_run, NULL},
    [FIND_RUN] = {make_find_run, NULL},
    [PUT_NODE] = {make_put_node, NULL},
    [FILL_RUN] = {make_fill_run, NULL},
    [TOUCH] = {NULL, "INSERT INTO touched VALUES (?1, ?2)"
                     " ON CONFLICT (run) DO UPDATE SET due = max(due, excluded.due)"},
    [WAIT] = {NULL, "INSERT OR IGNORE INTO waiting SELECT id, ?2 FROM run"
                    " WHERE id = ?1 AND seq IS NULL"},
    [EXPIRE] = {NULL, "INSERT INTO touched SELECT run, 1 FROM waiting WHERE since <= ?1"
                      " ON CONFLICT (run) DO UPDATE SET due = 1"},
    [DUE] = {NULL, "SELECT count(*) FROM waiting WHERE since <= ?1"},
    [TOUCHED] = {NULL, "SELECT t.run, t.due FROM touched t ORDER BY t.run"},
    [COMPUTE] = {make_compute, NULL},
    [PUBLISH] = {NULL, "UPDATE run SET seq = ?2 WHERE id = ?1 AND"
                       " (?3 OR complete OR seq IS NOT NULL)"},
    [ARRIVED] = {NULL, "DELETE FROM waiting WHERE run = ?1"},
};

static int prepare(hpcb_store_t *store, int which, hpcb_error_t *err)
{
    sqlite3_str *sql = sqlite3_str_new(store->db);
    char *text;
    int code;

    if (recipes[which].make)
        recipes[which].make(sql);
    else
        sqlite3_str_appendall(sql, recipes[which].text);
    text = sqlite3_str_finish(sql);
    code = text ? sqlite3_prepare_v3(store->db, text, -1, SQLITE_PREPARE_PERSISTENT,
                                     &store->statements[which], NULL)
                : SQLITE_NOMEM;
    sqlite3_free(text);
    return code ? hpcb_database_error(store->db, err) : 0;
}

/* ---- Opening, failing ---- */

hpcb_store_t *hpcb_store_new(const char *dir, bool repairs, hpcb_error_t *err)
{
    hpcb_store_t *store = calloc(1, sizeof(*store));

    if (!store) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    snprintf(store->dir, sizeof(store->dir), "%s", dir);
    store->repairs = repairs;
    return store;
}

static void close_database(hpcb_store_t *store)
{
    for (size_t i = 0; i < N_STATEMENTS; i++)
        sqlite3_finalize(store->statements[i]);
    memset(store->statements, 0, sizeof(store->statements));
    sqlite3_close(store->db);
    store->db = NULL;
    store->begun = store->closing = false;
}

void hpcb_store_free(hpcb_store_t *store)
{
    if (!store)
        return;
    hpcb_store_rollback(store);
    close_database(store);
    free(store);
}

/* Try again later.  Always -1, with errno EIO. */
static int put_off(hpcb_store_t *store, uint64_t now_ms)
{
    store->stats.failures++;
    store->backoff_ms = store->backoff_ms ? 2 * store->backoff_ms : RETRY_FIRST_MS;
    if (store->backoff_ms > RETRY_MAX_MS)
        store->backoff_ms = RETRY_MAX_MS;
    store->retry_ms = now_ms + store->backoff_ms;
    errno = EIO;
    return -1;
}

static int count_pending(hpcb_store_t *store, hpcb_error_t *err)
{
    int64_t pending;

    if (hpcb_database_number(store->db, "SELECT count(*) FROM waiting", &pending, err))
        return -1;
    store->pending = (uint64_t)pending;
    return 0;
}

/* Runs that were not published wait from now on. */
static int begin_waiting(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err)
{
    char sql[128];

    snprintf(sql, sizeof(sql),
             "INSERT INTO waiting SELECT id, %lld FROM run"
             " WHERE seq IS NULL",
             (long long)now_ms);
    return hpcb_database_run(store->db, temporary, err) ||
                   hpcb_database_run(store->db, sql, err)
               ? -1
               : count_pending(store, err);
}

static int open_database(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err)
{
    hpcb_error_t said = {""};
    bool repaired = store->suspect;

    store->db =
        hpcb_database_open(store->dir, store->repairs ? &repaired : NULL, &said);
    if (err)
        *err = said;
    if (!store->db)
        return -1;
    store->suspect = false;
    if (repaired)
        store->repaired = said;
    if (begin_waiting(store, now_ms, err) ||
        hpcb_database_number(store->db, "SELECT max(0, max(seq)) FROM run", &store->seq,
                             err) ||
        hpcb_database_number(store->db, "SELECT min(0, min(seq)) FROM run", &store->low,
                             err))
        return -1;
    for (int i = 0; i < N_STATEMENTS; i++)
        if (prepare(store, i, err))
            return -1;
    return 0;
}

/* Somebody has put another file there, or none. */
static bool has_moved(hpcb_store_t *store)
{
    int moved = 0;

    return sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) ==
               SQLITE_OK &&
           moved;
}

int hpcb_store_open(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err)
{
    if (store->backoff_ms && now_ms < store->retry_ms) {
        errno = EAGAIN;
        return hpcb_error(err, "%.300s is not written", store->dir);
    }
    if (store->db && !store->begun && (store->closing || has_moved(store)))
        close_database(store);
    if (store->db)
        return 0;
    if (open_database(store, now_ms, err) == 0)
        return 0;
    close_database(store);
    return put_off(store, now_ms);
}

const char *hpcb_store_repaired(hpcb_store_t *store)
{
    static hpcb_error_t said;

    said = store->repaired;
    store->repaired.text[0] = '\0';
    return said.text;
}

void hpcb_store_rollback(hpcb_store_t *store)
{
    for (size_t i = 0; i < N_STATEMENTS; i++)
        sqlite3_reset(store->statements[i]);
    if (store->begun)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    store->begun = false;
    store->batch = (hpcb_store_stats_t){.records = 0};
}

/* After a statement that has failed: everything since the last commit. */
static int fail(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err)
{
    int code = sqlite3_errcode(store->db);

    hpcb_database_error(store->db, err);
    store->closing = store->suspect = hpcb_database_is_damage(code);
    hpcb_store_rollback(store);
    return put_off(store, now_ms);
}

/* ---- Records ---- */

/* Run a statement that returns nothing.  A code of SQLite. */
static int run(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);

    sqlite3_reset(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int refuse(hpcb_error_t *err, const char *name)
{
    errno = EINVAL;
    return hpcb_error(err, "a record's %s is missing or cannot be", name);
}

/* 0, or -1: it is none that the column takes. */
static int bind_value(sqlite3_stmt *statement, int at, hpcb_field_type_t type,
                      json_object *value)
{
    json_type kind = json_object_get_type(value);
    double number = json_object_get_double(value);

    switch (type) {
    case HPCB_FIELD_TEXT:
        if (kind != json_type_string ||
            strlen(json_object_get_string(value)) !=
                (size_t)json_object_get_string_len(value) ||
            !hpcb_rjson_is_ascii(json_object_get_string(value)))
            return -1;
        return sqlite3_bind_text(statement, at, json_object_get_string(value), -1,
                                 SQLITE_TRANSIENT);
    case HPCB_FIELD_COUNT:
        if (kind != json_type_int || json_object_get_int64(value) < 0)
            return -1;
        return sqlite3_bind_int64(statement, at, json_object_get_int64(value));
    case HPCB_FIELD_BOOL:
        if (kind != json_type_boolean)
            return -1;
        return sqlite3_bind_int(statement, at, json_object_get_boolean(value));
    case HPCB_FIELD_NUMBER:
    case HPCB_FIELD_SIGNED:
        if ((kind != json_type_int && kind != json_type_double) || !isfinite(number) ||
            number < (type == HPCB_FIELD_SIGNED ? -NUMBER_MAX : 0) ||
            number > NUMBER_MAX)
            return -1;
        return sqlite3_bind_double(statement, at, number);
    case HPCB_FIELD_JSON:
        if (kind != json_type_array && kind != json_type_object)
            return -1;
        return sqlite3_bind_text(
            statement, at,
            json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), -1,
            SQLITE_TRANSIENT);
    }
    return -1;
}

/* What a record may leave out, and the database not. */
static int bind_missing(sqlite3_stmt *statement, int at, const hpcb_field_t *field)
{
    if (strcmp(field->name, "restart") == 0)
        return sqlite3_bind_int(statement, at, 0);
    return field->required ? -1 : sqlite3_bind_null(statement, at);
}

/* Give a statement's parameters the record's members of their names. */
static int bind_record(hpcb_store_t *store, int which, hpcb_rjson_t *record,
                       hpcb_error_t *err)
{
    sqlite3_stmt *statement = store->statements[which];

    for (int at = 1; at <= sqlite3_bind_parameter_count(statement); at++) {
        const char *name = sqlite3_bind_parameter_name(statement, at) + 1;
        const hpcb_field_t *field = hpcb_field_of_record(name);
        json_object *value = NULL;
        int code;

        if (!field) {
            sqlite3_bind_int64(statement, at, store->last_run);
            continue;
        }
        json_object_object_get_ex(record, name, &value);
        code = value ? bind_value(statement, at, field->type, value)
                     : bind_missing(statement, at, field);
        if (code < 0)
            return refuse(err, name);
    }
    return 0;
}

/* What the table of fields does not say of tasks and guests. */
static int check_record(hpcb_rjson_t *object, hpcb_error_t *err)
{
    hpcb_task_usage_t *tasks = NULL;
    hpcb_beside_t beside = {.guests = NULL};
    hpcb_record_t record;
    int status;

    if (hpcb_record_from_json(object, &record, err))
        return -1;
    status = hpcb_record_get_tasks(object, &tasks) < 0 ? refuse(err, "tasks") : 0;
    if (status == 0 && hpcb_record_get_beside(object, &beside))
        status = refuse(err, "guests_beside");
    free(tasks);
    free(beside.guests);
    return status;
}

/* last_run is the record's from then on. */
static int find_run(hpcb_store_t *store)
{
    sqlite3_stmt *statement = store->statements[FIND_RUN];
    int code = sqlite3_step(statement);

    if (code == SQLITE_ROW)
        store->last_run = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    if (code != SQLITE_DONE)
        return code == SQLITE_ROW ? SQLITE_OK : code;
    code = run(store->statements[ADD_RUN]);
    if (code == SQLITE_OK)
        store->last_run = sqlite3_last_insert_rowid(store->db);
    return code;
}

static int touch(hpcb_store_t *store, int which, int64_t value)
{
    sqlite3_stmt *statement = store->statements[which];

    sqlite3_bind_int64(statement, 1, store->last_run);
    sqlite3_bind_int64(statement, 2, value);
    return run(statement);
}

/* The run has changed. */
static int note_change(hpcb_store_t *store, uint64_t now_ms)
{
    int code = run(store->statements[FILL_RUN]);

    if (code == SQLITE_OK)
        code = touch(store, TOUCH, NOT_DUE);
    return code ? code : touch(store, WAIT, (int64_t)now_ms);
}

static int begin_transaction(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err)
{
    if (hpcb_store_open(store, now_ms, err))
        return -1;
    if (store->begun)
        return 0;
    if (sqlite3_exec(store->db, "BEGIN IMMEDIATE; DELETE FROM touched", NULL, NULL,
                     NULL))
        return fail(store, now_ms, err);
    store->begun = true;
    return 0;
}

/* One record that the schema refuses leaves nothing behind. */
static int undo_record(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err)
{
    hpcb_error(err, "a record that cannot be: %.200s", sqlite3_errmsg(store->db));
    if (sqlite3_exec(store->db, "ROLLBACK TO record; RELEASE record", NULL, NULL, NULL))
        return fail(store, now_ms, err);
    errno = EINVAL;
    return -1;
}

static int put_record(hpcb_store_t *store, uint64_t now_ms, bool *changed)
{
    int code = find_run(store);

    if (code)
        return code;
    sqlite3_bind_int64(store->statements[PUT_NODE], 1, store->last_run);
    sqlite3_bind_int64(
        store->statements[FILL_RUN],
        sqlite3_bind_parameter_index(store->statements[FILL_RUN], ":run"),
        store->last_run);
    code = run(store->statements[PUT_NODE]);
    *changed = code == SQLITE_OK && sqlite3_changes(store->db) > 0;
    return *changed ? note_change(store, now_ms) : code;
}

static int bind_all(hpcb_store_t *store, hpcb_rjson_t *record, hpcb_error_t *err)
{
    return check_record(record, err) || bind_record(store, ADD_RUN, record, err) ||
           bind_record(store, FIND_RUN, record, err) ||
           bind_record(store, PUT_NODE, record, err) ||
           bind_record(store, FILL_RUN, record, err);
}

int hpcb_store_add(hpcb_store_t *store, hpcb_rjson_t *record, uint64_t now_ms,
                   hpcb_error_t *err)
{
    bool changed = false;
    int code;

    if (begin_transaction(store, now_ms, err))
        return -1;
    if (bind_all(store, record, err)) {
        errno = EINVAL;
        return -1;
    }
    code = sqlite3_exec(store->db, "SAVEPOINT record", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = put_record(store, now_ms, &changed);
    if ((code & 0xff) == SQLITE_CONSTRAINT)
        return undo_record(store, now_ms, err);
    if (code == SQLITE_OK)
        code = sqlite3_exec(store->db, "RELEASE record", NULL, NULL, NULL);
    if (code)
        return fail(store, now_ms, err);
    store->batch.records += changed;
    store->batch.duplicates += !changed;
    return changed;
}

int hpcb_store_publish_old(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err)
{
    return touch(store, TOUCH, OLD) ? fail(store, now_ms, err) : 0;
}

int hpcb_store_expire(hpcb_store_t *store, uint64_t now_ms, uint64_t wait_ms,
                      hpcb_error_t *err)
{
    int64_t before = now_ms < wait_ms ? -1 : (int64_t)(now_ms - wait_ms), due = 0;
    sqlite3_stmt *count;

    if (hpcb_store_open(store, now_ms, err))
        return -1;
    count = store->statements[DUE];
    sqlite3_bind_int64(count, 1, before);
    if (sqlite3_step(count) == SQLITE_ROW)
        due = sqlite3_column_int64(count, 0);
    sqlite3_reset(count);
    if (due == 0)
        return 0;
    if (begin_transaction(store, now_ms, err))
        return -1;
    sqlite3_bind_int64(store->statements[EXPIRE], 1, before);
    return run(store->statements[EXPIRE]) ? fail(store, now_ms, err) : 0;
}

/* ---- Commit ---- */

static int publish(hpcb_store_t *store, int64_t due)
{
    sqlite3_stmt *statement = store->statements[PUBLISH];
    int64_t complete = 0;
    char sql[96];
    int code;

    sqlite3_bind_int64(statement, 1, store->last_run);
    sqlite3_bind_int64(statement, 2, due == OLD ? store->low - 1 : store->seq + 1);
    sqlite3_bind_int64(statement, 3, due);
    code = run(statement);
    if (code || sqlite3_changes(store->db) == 0)
        return code;
    store->low -= due == OLD;
    store->seq += due != OLD;
    snprintf(sql, sizeof(sql), "SELECT complete FROM run WHERE id = %lld",
             (long long)store->last_run);
    if (hpcb_database_number(store->db, sql, &complete, NULL))
        return sqlite3_errcode(store->db);
    store->batch.runs++;
    store->batch.incomplete += !complete;
    sqlite3_bind_int64(store->statements[ARRIVED], 1, store->last_run);
    return run(store->statements[ARRIVED]);
}

static int finish_runs(hpcb_store_t *store)
{
    sqlite3_stmt *touched = store->statements[TOUCHED];
    int code;

    while ((code = sqlite3_step(touched)) == SQLITE_ROW) {
        store->last_run = sqlite3_column_int64(touched, 0);
        sqlite3_bind_int64(store->statements[COMPUTE], 1, store->last_run);
        code = run(store->statements[COMPUTE]);
        if (code == SQLITE_OK)
            code = publish(store, sqlite3_column_int64(touched, 1));
        if (code)
            break;
    }
    sqlite3_reset(touched);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static void count_batch(hpcb_store_t *store)
{
    store->stats.records += store->batch.records;
    store->stats.duplicates += store->batch.duplicates;
    store->stats.runs += store->batch.runs;
    store->stats.incomplete += store->batch.incomplete;
    store->batch = (hpcb_store_stats_t){.records = 0};
}

int hpcb_store_commit(hpcb_store_t *store, uint64_t now_ms, hpcb_error_t *err)
{
    int64_t seq = store->seq, low = store->low;

    if (!store->begun)
        return 0;
    if (finish_runs(store) || sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL)) {
        store->seq = seq;
        store->low = low;
        return fail(store, now_ms, err);
    }
    store->begun = false;
    store->backoff_ms = 0;
    count_batch(store);
    (void)count_pending(store, NULL);
    return 0;
}

uint64_t hpcb_store_pending(const hpcb_store_t *store)
{
    return store->pending;
}

const hpcb_store_stats_t *hpcb_store_stats(const hpcb_store_t *store)
{
    return &store->stats;
}

sqlite3 *hpcb_store_database(const hpcb_store_t *store)
{
    return store->db;
}
