/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "records/database.h"
#include "tests/hpcbd/collector/sample_records.h"

char *collector_record(uint32_t job_id, uint32_t restart, unsigned node, unsigned nodes)
{
    hpcb_record_t record = {
        .job = {.job_id = job_id,
                .uid = 1000,
                .klass = HPCB_CLASS_PRIMARY,
                .partition = "primary",
                .begin_us = UINT64_C(1700000000000000)},
        .cluster = "tiny",
        /* Jobs end on four different days. */
        .end_us = UINT64_C(1700000010000000) + (job_id % 4) * UINT64_C(86400000000),
        .cpus = 1,
        .usage = {1000000, 0, 0},
        .measured = {.network = {.known = true, .bytes = 50000, .p95 = 9000}},
        .about = {.nodes = nodes, .restart = restart},
    };
    char *text;

    snprintf(record.node, sizeof(record.node), "n%u", node);
    text = hpcb_record_render(&record, NULL);
    if (!text)
        abort();
    return text;
}

static int64_t number(sqlite3 *db, const char *sql)
{
    hpcb_error_t err = {""};
    int64_t value = -1;

    ck_assert_msg(hpcb_database_number(db, sql, &value, &err) == 0, "%s", err.text);
    return value;
}

void collector_totals(const char *dir, collector_totals_t *totals)
{
    hpcb_error_t err = {""};
    sqlite3 *db = hpcb_database_open_reader(dir, &err);

    ck_assert_msg(db != NULL, "%s", err.text);
    totals->runs =
        (unsigned)number(db, "SELECT count(*) FROM run WHERE seq IS NOT NULL");
    totals->complete = (unsigned)number(
        db, "SELECT count(*) FROM run WHERE seq IS NOT NULL AND complete");
    totals->nodes =
        (unsigned)number(db, "SELECT count(*) FROM node JOIN run ON run.id = node.run"
                             " WHERE seq IS NOT NULL");
    totals->cpu_seconds =
        (double)number(db, "SELECT 1000000 * total(cpu_seconds) FROM run"
                           " WHERE seq IS NOT NULL") /
        1000000;
    sqlite3_close(db);
}
