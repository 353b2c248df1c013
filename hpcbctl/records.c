/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * records verify, vacuum, import: the collector's database, with or without a running
 * collector.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/conf.h"
#include "common/log.h"
#include "hpcbctl/verbs.h"
#include "records/database.h"
#include "records/import.h"

#define EXIT_USAGE 2

static int load_conf(const hpcb_ctl_t *ctl, hpcb_conf_t *conf)
{
    char path[PATH_MAX];
    hpcb_error_t err;

    if (hpcb_conf_load(hpcb_conf_find(ctl->conf_path, path, sizeof(path)), conf,
                       &err) == 0)
        return 0;
    if (!ctl->conf_path && errno == ENOENT) {
        hpcb_conf_defaults(conf);
        return 0;
    }
    hpcb_log(HPCB_LOG_ERROR, "records: %s", err.text);
    return -1;
}

static int complain(const hpcb_error_t *err)
{
    hpcb_log(HPCB_LOG_ERROR, "records: %s", err->text);
    return 1;
}

/* ---- verify ---- */

typedef struct {
    int64_t runs, waiting, nodes, version;
} counts_t;

static int count(sqlite3 *db, counts_t *counts, hpcb_error_t *err)
{
    static const char runs[] = "SELECT count(*) FROM run",
                      waiting[] = "SELECT count(*) FROM run WHERE seq IS NULL",
                      nodes[] = "SELECT count(*) FROM node",
                      version[] = "PRAGMA user_version";

    return hpcb_database_number(db, runs, &counts->runs, err) ||
                   hpcb_database_number(db, waiting, &counts->waiting, err) ||
                   hpcb_database_number(db, nodes, &counts->nodes, err) ||
                   hpcb_database_number(db, version, &counts->version, err)
               ? -1
               : 0;
}

static void print_counts(const hpcb_ctl_t *ctl, const counts_t *counts)
{
    if (ctl->json)
        printf("{\"version\": %" PRId64 ", \"runs\": %" PRId64
               ", \"waiting_runs\": %" PRId64 ", \"node_records\": %" PRId64 "}\n",
               counts->version, counts->runs, counts->waiting, counts->nodes);
    else
        printf("whole: %" PRId64 " runs, of which %" PRId64
               " wait for nodes, and %" PRId64 " records of nodes (version %" PRId64
               ")\n",
               counts->runs, counts->waiting, counts->nodes, counts->version);
}

int hpcb_records_verify(const hpcb_ctl_t *ctl)
{
    hpcb_conf_t conf;
    hpcb_error_t err = {""};
    counts_t counts;
    sqlite3 *db;
    int status;

    if (ctl->n_operands > 0) {
        hpcb_log(HPCB_LOG_ERROR, "records verify: takes no argument");
        return EXIT_USAGE;
    }
    if (load_conf(ctl, &conf))
        return 1;
    db = hpcb_database_open_reader(conf.collector_dir, &err);
    status = db ? hpcb_database_verify(db, &err) : -1;
    if (status == 0)
        status = count(db, &counts, &err);
    sqlite3_close(db);
    if (status)
        return complain(&err);
    print_counts(ctl, &counts);
    return 0;
}

/* ---- vacuum ---- */

/* The beginning of the day YYYY-MM-DD in UTC.  -1: it is none. */
static int parse_day(const char *text, int64_t *seconds)
{
    struct tm tm = {.tm_mday = 0};
    char again[16];
    time_t when;

    if (strlen(text) != 10 || !strptime(text, "%Y-%m-%d", &tm))
        return -1;
    when = timegm(&tm);
    strftime(again, sizeof(again), "%Y-%m-%d", &tm);
    *seconds = (int64_t)when;
    return strcmp(text, again) == 0 ? 0 : -1;
}

static int64_t size_of(const char *dir)
{
    char path[PATH_MAX];
    struct stat st;

    return hpcb_database_path(dir, path, NULL) || stat(path, &st) ? 0
                                                                  : (int64_t)st.st_size;
}

/* -1 with err. */
static int vacuum(sqlite3 *db, const int64_t *before, int64_t *removed,
                  hpcb_error_t *err)
{
    char sql[128];

    *removed = 0;
    if (before) {
        snprintf(sql, sizeof(sql),
                 "DELETE FROM run WHERE seq IS NOT NULL AND \"end\" < %" PRId64,
                 *before);
        if (hpcb_database_run(db, sql, err))
            return -1;
        *removed = sqlite3_changes(db);
    }
    return hpcb_database_run(db, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", err);
}

int hpcb_records_vacuum(const hpcb_ctl_t *ctl)
{
    hpcb_conf_t conf;
    hpcb_error_t err = {""};
    int64_t before = 0, removed, size;
    sqlite3 *db;
    int status;

    if (ctl->n_operands > 1 ||
        (ctl->n_operands == 1 && parse_day(ctl->operands[0], &before))) {
        hpcb_log(HPCB_LOG_ERROR, "records vacuum: %.40s: allowed: one day, YYYY-MM-DD",
                 ctl->operands[ctl->n_operands - 1]);
        return EXIT_USAGE;
    }
    if (load_conf(ctl, &conf))
        return 1;
    size = size_of(conf.collector_dir);
    db = size ? hpcb_database_open(conf.collector_dir, NULL, &err) : NULL;
    if (!size)
        hpcb_error(&err, "%.300s holds no records", conf.collector_dir);
    status = db ? vacuum(db, ctl->n_operands ? &before : NULL, &removed, &err) : -1;
    sqlite3_close(db);
    if (status)
        return complain(&err);
    if (ctl->json)
        printf("{\"removed_runs\": %" PRId64 ", \"bytes_before\": %" PRId64
               ", \"bytes\": %" PRId64 "}\n",
               removed, size, size_of(conf.collector_dir));
    else
        printf("%" PRId64 " runs removed; %" PRId64 " bytes, before %" PRId64 "\n",
               removed, size_of(conf.collector_dir), size);
    return 0;
}

/* ---- import ---- */

static int import_file(hpcb_store_t *store, const char *path, hpcb_import_t *totals)
{
    hpcb_autofclose FILE *stream = NULL;
    hpcb_error_t err = {""};
    int fd = strcmp(path, "-") == 0 ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);

    stream = fd < 0 ? NULL : fdopen(fd, "r");
    if (!stream) {
        hpcb_log(HPCB_LOG_ERROR, "records import: %.300s: %s", path, strerror(errno));
        return 1;
    }
    if (hpcb_import_stream(store, stream, false, totals, &err) == 0)
        return 0;
    hpcb_log(HPCB_LOG_ERROR, "records import: %.200s: %s", path, err.text);
    return 1;
}

static void print_import(const hpcb_ctl_t *ctl, const hpcb_import_t *totals)
{
    const char *form = ctl->json ? "{\"new_node_records\": %" PRIu64
                                   ", \"known_node_records\": %" PRIu64
                                   ", \"refused_lines\": %" PRIu64 "}\n"
                                 : "%" PRIu64 " records of nodes are new, %" PRIu64
                                   " were known; %" PRIu64 " lines are no records\n";

    printf(form, totals->records, totals->known, totals->refused);
}

int hpcb_records_import(const hpcb_ctl_t *ctl)
{
    hpcb_import_t totals = {.records = 0};
    hpcb_error_t err = {""};
    hpcb_store_t *store;
    hpcb_conf_t conf;
    int status = 0;

    if (ctl->n_operands == 0) {
        hpcb_log(HPCB_LOG_ERROR,
                 "records import: give files of records (- for standard "
                 "input)");
        return EXIT_USAGE;
    }
    if (load_conf(ctl, &conf))
        return 1;
    store = hpcb_store_new(conf.collector_dir, false, &err);
    if (!store || hpcb_store_open(store, 0, &err)) {
        hpcb_store_free(store);
        return complain(&err);
    }
    for (int i = 0; i < ctl->n_operands; i++)
        status |= import_file(store, ctl->operands[i], &totals);
    hpcb_store_free(store);
    print_import(ctl, &totals);
    return status || totals.refused > 0;
}
