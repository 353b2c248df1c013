/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "hpcbd/collector/position.h"
#include "hpcbd/collector/writer_runs.h"
#include "records/database.h"

#define POSITION "writer.pos"

int hpcbd_writer_load(const char *dir, int64_t *position, hpcb_error_t *err)
{
    return hpcbd_position_load(dir, POSITION, position, err);
}

int hpcbd_writer_save(const char *dir, int64_t position, hpcb_error_t *err)
{
    return hpcbd_position_save(dir, POSITION, position, err);
}

static double number_or(sqlite3_stmt *row, int column, double otherwise)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL
               ? otherwise
               : sqlite3_column_double(row, column);
}

static void read_row(sqlite3_stmt *row, hpcbd_writer_run_t *entry)
{
    const char *cluster = (const char *)sqlite3_column_text(row, 1);
    const char *klass = (const char *)sqlite3_column_text(row, 4);
    hpcb_run_t *run = &entry->run;

    *entry = (hpcbd_writer_run_t){.seq = sqlite3_column_int64(row, 0)};
    snprintf(run->cluster, sizeof(run->cluster), "%s", cluster ? cluster : "");
    run->job_id = (uint32_t)sqlite3_column_int64(row, 2);
    run->restart = (uint32_t)sqlite3_column_int64(row, 3);
    if (!klass || hpcb_class_from_name(klass, &run->klass))
        run->klass = HPCB_CLASS_UNKNOWN;
    run->guests_known = sqlite3_column_type(row, 5) != SQLITE_NULL;
    run->guests = (uint64_t)sqlite3_column_int64(row, 5);
    run->efficiency = number_or(row, 6, -1);
    run->stolen_fraction = number_or(row, 7, -1);
    run->cpu_seconds = number_or(row, 8, 0);
    run->wall_seconds = number_or(row, 9, 0);
    run->mem_bandwidth = number_or(row, 10, -1);
    run->net_bandwidth = number_or(row, 11, -1);
    entry->submit = sqlite3_column_int64(row, 12);
}

static int select_runs(sqlite3 *db, int64_t position, hpcbd_writer_run_t *runs,
                       int most)
{
    static const char sql[] =
        "SELECT seq, cluster, job_id, restart, class, guests_beside, efficiency,"
        " stolen_fraction, cpu_seconds, wall_seconds,"
        " json_extract(mem_bandwidth, '$.mean'),"
        " json_extract(net_bandwidth, '$.mean'), submit FROM run WHERE seq > ?1"
        " ORDER BY seq LIMIT ?2";
    sqlite3_stmt *row = NULL;
    int count = 0;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(row, 1, position);
        sqlite3_bind_int(row, 2, most);
        while (count < most && sqlite3_step(row) == SQLITE_ROW)
            read_row(row, &runs[count++]);
    }
    sqlite3_finalize(row);
    return count;
}

/* The file is not kept open, because it may be renamed. */
int hpcbd_writer_next(const char *dir, int64_t *position,
                      hpcbd_writer_run_t runs[static HPCBD_WRITER_RUNS], int most)
{
    sqlite3 *db = hpcb_database_open_reader(dir, NULL);
    int count;

    if (!db)
        return 0;
    count = select_runs(db, *position, runs, most);
    if (count == 0)
        hpcbd_position_check(db, position);
    sqlite3_close(db);
    return count;
}
