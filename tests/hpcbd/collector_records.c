/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hpcbd/collector_file.h"
#include "tests/hpcbd/collector_records.h"

#define RUNS_MAX 1024

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
        .about = {.nodes = nodes, .restart = restart},
    };
    char *text;

    snprintf(record.node, sizeof(record.node), "n%u", node);
    text = hpcb_record_render(&record, NULL);
    ck_assert_ptr_nonnull(text);
    return text;
}

typedef struct {
    hpcb_run_t *runs[RUNS_MAX];
    size_t count;
    unsigned lines;
} table_t;

static int visit(const char *line, size_t length, uint64_t offset, void *arg)
{
    table_t *table = arg;
    hpcb_run_t *run = hpcb_run_parse(line, NULL);
    size_t i = 0;

    (void)length;
    (void)offset;
    ck_assert_msg(run != NULL, "%s", line);
    table->lines++;
    while (i < table->count && memcmp(hpcb_run_key(table->runs[i]), hpcb_run_key(run),
                                      sizeof(hpcb_run_key_t)) != 0)
        i++;
    if (i < table->count)
        hpcb_run_free(table->runs[i]);
    else
        table->count++;
    ck_assert_uint_lt(i, RUNS_MAX);
    table->runs[i] = run;
    return 0;
}

static double cpu_seconds(const hpcb_run_t *run)
{
    char *line = hpcb_run_render(run, NULL);
    hpcb_rjson_t *object = hpcb_rjson_parse(line), *member;
    double seconds;

    ck_assert(json_object_object_get_ex(object, "cpu_seconds", &member));
    seconds = json_object_get_double(member);
    json_object_put(object);
    free(line);
    return seconds;
}

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

void collector_totals(const char *dir, collector_totals_t *totals)
{
    static table_t table;
    struct dirent **list = NULL;
    char path[PATH_MAX];
    int n;

    table = (table_t){.count = 0};
    *totals = (collector_totals_t){.lines = 0};
    snprintf(path, sizeof(path), "%s/records", dir);
    n = scandir(path, &list, is_file, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/records/%s", dir, list[i]->d_name);
        ck_assert_int_eq(hpcbd_file_each(path, 0, visit, &table, NULL), 0);
        free(list[i]);
    }
    free(list);
    totals->lines = table.lines;
    totals->runs = (unsigned)table.count;
    for (size_t i = 0; i < table.count; i++) {
        totals->complete += hpcb_run_complete(table.runs[i]);
        totals->nodes += (unsigned)hpcb_run_nodes(table.runs[i]);
        totals->cpu_seconds += cpu_seconds(table.runs[i]);
        hpcb_run_free(table.runs[i]);
    }
}
