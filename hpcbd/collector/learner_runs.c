/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>

#include "hpcbd/collector/learner_runs.h"
#include "hpcbd/collector/position.h"
#include "records/database.h"

/* The least part of its time in which a guest must not have waited for CPUs. */
#define PART_MIN 0.1

/* One row of the database; what is negative is not known. */
typedef struct {
    bool guest;
    bool spread;                    /* may have had fewer tasks on a node */
    double node_seconds, allocated; /* CPUs x seconds */
    double cpu, delay;              /* seconds */
    double bytes[HPCB_PROFILE_FIGURES], peak[HPCB_PROFILE_FIGURES];
    double memory; /* bytes, the most on one node; 0: not known */
} row_t;

static double number(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL
               ? -1
               : sqlite3_column_double(row, column);
}

static void know(hpcb_profile_run_t *run, hpcb_profile_axis_t axis, double value)
{
    double most = (double)hpcb_profile_axis_max(axis);

    if (!(value >= 0))
        return;
    run->known[axis] = true;
    run->value[axis] = value < most ? (uint64_t)value : hpcb_profile_axis_max(axis);
}

/* The part of its time in which the job did not wait for CPUs that others had: it used
 * them or had nothing to compute. */
static double part_of(const row_t *row)
{
    return row->delay > 0 && row->allocated > 0 ? 1 - row->delay / row->allocated : 1;
}

/* Get the traffic and memory of a node with all tasks that Slurm would place there. */
static void know_node(hpcb_profile_run_t *run, const row_t *row)
{
    static const hpcb_profile_axis_t peaks[] = {
        [HPCB_PROFILE_MEM] = HPCB_PROFILE_MEM_PEAK,
        [HPCB_PROFILE_NET] = HPCB_PROFILE_NET_PEAK,
    };
    double part = row->guest ? part_of(row) : 1;

    for (unsigned axis = HPCB_PROFILE_MEM; axis <= HPCB_PROFILE_NET; axis++) {
        if (row->bytes[axis] < 0 || part < PART_MIN)
            continue;
        know(run, axis, row->bytes[axis] / row->node_seconds / part);
        know(run, peaks[axis], row->peak[axis]);
    }
    if (row->memory > 0)
        know(run, HPCB_PROFILE_PEAK, row->memory);
}

static hpcb_profile_run_t run_of(const row_t *row)
{
    hpcb_profile_run_t run = {.known = {false}};

    if (row->cpu >= 0 && row->delay >= 0 && row->allocated > 0)
        know(&run, HPCB_PROFILE_CPU,
             (row->cpu + row->delay) / row->allocated * HPCB_PROFILE_ONE);
    if (!row->spread)
        know_node(&run, row);
    return run;
}

/* 0, or -1: the row says nothing. */
static int read_row(sqlite3_stmt *row, hpcbd_lesson_t *lesson)
{
    const char *name = (const char *)sqlite3_column_text(row, 2);
    const char *executable = (const char *)sqlite3_column_text(row, 3);
    const char *klass = (const char *)sqlite3_column_text(row, 4);
    char plain[HPCB_PROFILE_NAME_MAX], program[HPCB_PROFILE_NAME_MAX];
    row_t read = {
        .guest = klass && strcmp(klass, "guest") == 0,
        .node_seconds = number(row, 6),
        .allocated = number(row, 7),
        .cpu = number(row, 8),
        .delay = number(row, 9),
        .bytes = {[HPCB_PROFILE_MEM] = number(row, 10),
                  [HPCB_PROFILE_NET] = number(row, 11)},
        .peak = {[HPCB_PROFILE_MEM] = number(row, 12),
                 [HPCB_PROFILE_NET] = number(row, 13)},
        .memory = number(row, 14),
        .spread = sqlite3_column_int(row, 15) != 0,
    };

    if (number(row, 5) < HPCBD_LEARNER_SECONDS || !(read.node_seconds > 0) ||
        hpcb_profile_decode(name ? name : "", plain) ||
        hpcb_profile_decode(executable ? executable : "", program) ||
        hpcb_profile_key((uint32_t)sqlite3_column_int64(row, 1), plain, program,
                         &lesson->key))
        return -1;
    lesson->run = run_of(&read);
    return 0;
}

static size_t select_runs(sqlite3 *db, int64_t *position, hpcbd_lesson_t *lessons,
                          bool *more)
{
    static const char sql[] =
        "SELECT seq, user_id, job_name, executable, class, wall_seconds, node_seconds,"
        " allocated_cpu_seconds, cpu_seconds, run_delay_seconds, memory_bytes,"
        " network_bytes, memory_peak_rate, network_peak_rate, memory_peak_bytes, spread"
        " FROM run"
        " WHERE seq > ?1 AND complete ORDER BY seq LIMIT ?2";
    sqlite3_stmt *row = NULL;
    size_t count = 0;
    int rows = 0;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(row, 1, *position);
        sqlite3_bind_int(row, 2, HPCBD_LEARNER_RUNS);
        for (; rows < HPCBD_LEARNER_RUNS && sqlite3_step(row) == SQLITE_ROW; rows++) {
            *position = sqlite3_column_int64(row, 0);
            count += read_row(row, &lessons[count]) == 0;
        }
    }
    sqlite3_finalize(row);
    *more = rows == HPCBD_LEARNER_RUNS;
    if (rows == 0)
        hpcbd_position_check(db, position);
    return count;
}

/* The file is not kept open, because it may be renamed. */
size_t hpcbd_learner_next(const char *dir, int64_t *position,
                          hpcbd_lesson_t lessons[static HPCBD_LEARNER_RUNS], bool *more)
{
    sqlite3 *db = hpcb_database_open_reader(dir, NULL);
    size_t count;

    *more = false;
    if (!db)
        return 0;
    count = select_runs(db, position, lessons, more);
    sqlite3_close(db);
    return count;
}

typedef struct {
    const hpcbd_lesson_t *lessons;
    size_t count;
    uint64_t now;
} folding_t;

static int fold(hpcb_profiles_t *store, void *arg, hpcb_error_t *err)
{
    const folding_t *folding = arg;

    for (size_t i = 0; i < folding->count; i++)
        if (hpcb_profiles_learn(store, &folding->lessons[i].key,
                                &folding->lessons[i].run, folding->now, err))
            return -1;
    return 0;
}

int hpcbd_learner_fold(const char *path, const hpcbd_lesson_t *lessons, size_t count,
                       uint64_t now, hpcb_error_t *err)
{
    folding_t folding = {.lessons = lessons, .count = count, .now = now};

    return hpcb_profiles_update(path, fold, &folding, err);
}
