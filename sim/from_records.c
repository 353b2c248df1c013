/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "records/database.h"
#include "sim/from_records.h"

enum { SUBMIT, START, WALL, CPUS, CPU_SECONDS, MEMORY, NODES, GUEST, SEQ, AGAIN };

static const char query[] =
    "SELECT submit, start, wall_seconds, cpus, cpu_seconds, memory_peak_bytes, nodes, "
    "class = 'guest', seq, EXISTS (SELECT 1 FROM run AS later WHERE later.cluster = "
    "run.cluster AND later.job_id = run.job_id AND later.restart > run.restart) "
    "FROM run WHERE cluster = ?1 ORDER BY submit, job_id, restart";

/* Of all nodes, from that of the one with most. */
static int64_t memory(sqlite3_stmt *row)
{
    /* 0: a node could not measure it. */
    if (sqlite3_column_int64(row, MEMORY) <= 0)
        return HPCB_SIM_UNKNOWN;
    return sqlite3_column_int64(row, MEMORY) / 1024 *
           (sqlite3_column_int64(row, NODES) > 0 ? sqlite3_column_int64(row, NODES)
                                                 : 1);
}

static int64_t begin(sqlite3_stmt *row, int64_t submit)
{
    int64_t start = sqlite3_column_type(row, START) == SQLITE_NULL
                        ? HPCB_SIM_UNKNOWN
                        : sqlite3_column_int64(row, START);

    return start >= submit && start <= HPCB_SIM_TIME_MAX ? start : HPCB_SIM_UNKNOWN;
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
    if (sqlite3_column_int(row, AGAIN)) {
        hpcb_sim_pass_over(history, HPCB_SIM_RUN_AGAIN, "there is a later run");
        return 0;
    }
    if (sqlite3_column_type(row, SEQ) == SQLITE_NULL) {
        hpcb_sim_pass_over(history, HPCB_SIM_NOT_ENDED, "not all nodes have reported");
        return 0;
    }
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
        .begin = begin(row, submit),
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

static int read_rows(sqlite3 *database, const char *cluster,
                     hpcb_sim_history_t *history, hpcb_error_t *err)
{
    sqlite3_stmt *row = NULL;
    int got, rc = 0;

    if (sqlite3_prepare_v2(database, query, -1, &row, NULL) != SQLITE_OK)
        return hpcb_database_error(database, err);
    if (sqlite3_bind_text(row, 1, cluster, -1, SQLITE_STATIC) != SQLITE_OK)
        rc = hpcb_database_error(database, err);
    while (rc == 0 && (got = sqlite3_step(row)) != SQLITE_DONE)
        rc = got == SQLITE_ROW ? take_row(row, history, err)
                               : hpcb_database_error(database, err);
    sqlite3_finalize(row);
    return rc;
}

/* The only cluster of the database; *name is the caller's to free, NULL if there is no
 * job at all. */
static int find_cluster(sqlite3 *database, char **name, hpcb_error_t *err)
{
    sqlite3_stmt *row = NULL;
    int rc = 0;

    *name = NULL;
    if (sqlite3_prepare_v2(database, "SELECT min(cluster), max(cluster) FROM run", -1,
                           &row, NULL) != SQLITE_OK)
        return hpcb_database_error(database, err);
    if (sqlite3_step(row) == SQLITE_ROW) {
        const char *first = (const char *)sqlite3_column_text(row, 0);
        const char *last = (const char *)sqlite3_column_text(row, 1);

        if (first && last && strcmp(first, last) != 0)
            rc = hpcb_error(err, "jobs of several clusters, '%s' ... '%s': --cluster",
                            first, last);
        else if (first && !(*name = strdup(first)))
            rc = hpcb_error(err, "%s", strerror(errno));
    }
    sqlite3_finalize(row);
    return rc;
}

int hpcb_sim_read_records(const char *dir, const char *cluster,
                          hpcb_sim_history_t *history, hpcb_error_t *err)
{
    sqlite3 *database = hpcb_database_open_reader(dir, err);
    hpcb_autofree char *only = NULL;
    int rc = 0;

    if (!database)
        return -1;
    if (!cluster) {
        rc = find_cluster(database, &only, err);
        cluster = only;
    }
    if (rc == 0 && cluster)
        rc = read_rows(database, cluster, history, err);
    sqlite3_close(database);
    return rc;
}
