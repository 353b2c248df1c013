/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <sqlite3.h>

#include "common/error.h"
#include "records/database.h"
#include "sim/from_records.h"

enum { SUBMIT, WALL, CPUS, CPU_SECONDS, MEMORY, NODES, GUEST };

static const char query[] =
    "SELECT submit, wall_seconds, cpus, cpu_seconds, memory_peak_bytes, nodes, "
    "class = 'guest' FROM run ORDER BY submit, job_id, restart";

/* Of all nodes, from that of the one with most. */
static int64_t memory(sqlite3_stmt *row)
{
    if (sqlite3_column_type(row, MEMORY) == SQLITE_NULL)
        return HPCB_SIM_UNKNOWN;
    return sqlite3_column_int64(row, MEMORY) / 1024 *
           (sqlite3_column_int64(row, NODES) > 0 ? sqlite3_column_int64(row, NODES)
                                                 : 1);
}

static int take_row(sqlite3_stmt *row, hpcb_sim_history_t *history, hpcb_error_t *err)
{
    double run = sqlite3_column_double(row, WALL);
    int64_t submit = sqlite3_column_int64(row, SUBMIT);
    int64_t cpus = sqlite3_column_int64(row, CPUS);
    double load = run > 0 && cpus > 0
                      ? sqlite3_column_double(row, CPU_SECONDS) / (run * (double)cpus)
                      : 0;
    hpcb_sim_past_t job;

    history->lines++;
    if (run <= 0 || cpus <= 0) {
        hpcb_sim_pass_over(history, HPCB_SIM_DID_NOT_RUN, "no running time or no CPUs");
        return 0;
    }
    if (sqlite3_column_type(row, SUBMIT) == SQLITE_NULL) {
        hpcb_sim_pass_over(history, HPCB_SIM_NO_NUMBER, "no time of submission");
        return 0;
    }
    if (submit < 0 || submit > HPCB_SIM_TIME_MAX || run > (double)HPCB_SIM_RUN_MAX ||
        cpus > HPCB_SIM_CPUS_MAX) {
        hpcb_sim_pass_over(history, HPCB_SIM_NEGATIVE, "a figure beyond all sense");
        return 0;
    }
    job = (hpcb_sim_past_t){
        .submit = submit,
        .run = run < 1 ? 1 : (int64_t)run,
        .limit = HPCB_SIM_UNKNOWN,
        .memory_asked = HPCB_SIM_UNKNOWN,
        .memory_used = memory(row),
        .cpus = (uint32_t)cpus,
        .load = HPCB_SIM_UNKNOWN,
        .kind = sqlite3_column_int(row, GUEST) ? HPCB_SIM_GUEST : HPCB_SIM_PRIMARY,
    };
    if (sqlite3_column_type(row, CPU_SECONDS) != SQLITE_NULL)
        job.load = (float)(load < 0 ? 0 : load > 1 ? 1 : load);
    return hpcb_sim_history_add(history, &job, err);
}

static int read_rows(sqlite3 *database, hpcb_sim_history_t *history, hpcb_error_t *err)
{
    sqlite3_stmt *row = NULL;
    int got, rc = 0;

    if (sqlite3_prepare_v2(database, query, -1, &row, NULL) != SQLITE_OK)
        return hpcb_database_error(database, err);
    while (rc == 0 && (got = sqlite3_step(row)) != SQLITE_DONE)
        rc = got == SQLITE_ROW ? take_row(row, history, err)
                               : hpcb_database_error(database, err);
    sqlite3_finalize(row);
    return rc;
}

int hpcb_sim_read_records(const char *dir, hpcb_sim_history_t *history,
                          hpcb_error_t *err)
{
    sqlite3 *database = hpcb_database_open_reader(dir, err);
    int rc;

    if (!database)
        return -1;
    rc = read_rows(database, history, err);
    sqlite3_close(database);
    return rc;
}
