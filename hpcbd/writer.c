/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The one writer of AdminComment: a child process that follows the database of records,
 * at a rate of its own.  What it has still to do are the runs with a larger seq than
 * writer.pos says, so that a burst of jobs costs it no memory and a crash loses
 * nothing; what it has done is in writer.json.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/jobrecord.h"
#include "common/log.h"
#include "common/text.h"
#include "hpcbd/worker.h"
#include "hpcbd/writer_slurm.h"
#include "records/database.h"

#define LOOK_MS 2000

/* Runs that are read together. */
#define RUNS_MAX 64

/* slurmctld tells slurmdbd of a job's end when it can; it is seldom behind the epilog.
 */
#define END_TRIES    15
#define END_PAUSE_MS 2000

#define BACKOFF_FIRST_MS 1000
#define BACKOFF_MAX_MS   60000

typedef struct {
    uint64_t written;   /* comments set */
    uint64_t unchanged; /* that held the figures already */
    uint64_t unknown;   /* jobs of whose end slurmdbd has not heard in time */
    uint64_t
        no_room; /* comments of others that leave no room, or that we cannot keep */
} totals_t;

typedef struct {
    const hpcb_conf_t *conf;
    const hpcbd_slurm_t *slurm;
    int64_t position; /* the seq of the last run that was written */
    totals_t totals;
    uint32_t backoff_ms;
    bool complained;
} writer_t;

static void sleep_ms(uint32_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000,
                            .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

/* The number in the library's name goes up with each release of Slurm (22.05: 38). */
static void *load_libslurm(void)
{
    char name[32];
    void *library = dlopen("libslurm.so", RTLD_NOW | RTLD_GLOBAL);

    for (int number = 38; !library && number < 64; number++) {
        snprintf(name, sizeof(name), "libslurm.so.%d", number);
        library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    }
    return library;
}

static const hpcbd_slurm_t *load_slurm(hpcb_error_t *err)
{
    const hpcbd_slurm_t *slurm = NULL;
    void *module = NULL;

    if (load_libslurm())
        module = dlopen(HPCBD_SLURM_MODULE, RTLD_NOW);
    if (module)
        slurm = dlsym(module, HPCBD_SLURM_SYMBOL);
    if (!slurm) {
        const char *why = dlerror();

        hpcb_error(err, "AdminComment is left alone: %s", why ? why : "no libslurm");
    }
    return slurm;
}

/* slurmdbd or slurmctld is away: nothing else to do than to wait. */
static void back_off(writer_t *writer)
{
    hpcb_log_once(&writer->complained, HPCB_LOG_ERROR,
                  "AdminComment waits for slurmdbd");
    sleep_ms(writer->backoff_ms);
    writer->backoff_ms *= 2;
    if (writer->backoff_ms > BACKOFF_MAX_MS)
        writer->backoff_ms = BACKOFF_MAX_MS;
}

static void recover(writer_t *writer)
{
    if (writer->complained)
        hpcb_log(HPCB_LOG_INFO, "slurmdbd takes AdminComment again");
    writer->complained = false;
    writer->backoff_ms = BACKOFF_FIRST_MS;
}

/* Asks until there is an answer.  NULL: of its end nobody has heard. */
static char *get_comment(writer_t *writer, const hpcb_run_t *run)
{
    for (int tries = 0; tries < END_TRIES;) {
        char *comment = NULL;
        hpcbd_outcome_t outcome =
            writer->slurm->get(run->cluster, run->job_id, &comment);

        if (outcome == HPCBD_FAILED) {
            back_off(writer);
            continue;
        }
        recover(writer);
        if (outcome == HPCBD_DONE)
            return comment;
        if (outcome == HPCBD_NO_DBD)
            return NULL;
        if (++tries < END_TRIES)
            sleep_ms(END_PAUSE_MS);
    }
    return NULL;
}

static void set_comment(writer_t *writer, const hpcb_run_t *run, const char *comment)
{
    while (writer->slurm->set(run->cluster, run->job_id, comment) == HPCBD_FAILED)
        back_off(writer);
    recover(writer);
}

/* slurmdbd's SQL (writer_slurm.h). */
static bool is_harmless(const char *comment)
{
    return !strpbrk(comment, "'\\");
}

static void write_run(writer_t *writer, const hpcb_run_t *run)
{
    hpcb_autofree char *before = get_comment(writer, run);
    hpcb_autofree char *after = NULL;

    if (!before) {
        writer->totals.unknown++;
        return;
    }
    after = hpcb_run_comment(run, before, NULL);
    if (!after || !is_harmless(after)) {
        writer->totals.no_room++;
    } else if (strcmp(before, after) == 0) {
        writer->totals.unchanged++;
    } else {
        set_comment(writer, run, after);
        writer->totals.written++;
    }
}

static void save_totals(const writer_t *writer)
{
    char path[PATH_MAX], text[256];

    snprintf(text, sizeof(text),
             "{\"version\":1,\"written\":%" PRIu64 ",\"unchanged\":%" PRIu64
             ",\"unknown\":%" PRIu64 ",\"no_room\":%" PRIu64 "}\n",
             writer->totals.written, writer->totals.unchanged, writer->totals.unknown,
             writer->totals.no_room);
    if (snprintf(path, sizeof(path), "%s/writer.json", writer->conf->collector_dir) <
        (int)sizeof(path))
        (void)hpcb_file_replace(path, text, strlen(text), 0644, NULL);
}

/* writer.pos */
static int position_path(const writer_t *writer, char path[static PATH_MAX],
                         hpcb_error_t *err)
{
    return snprintf(path, PATH_MAX, "%s/writer.pos", writer->conf->collector_dir) <
                   PATH_MAX
               ? 0
               : hpcb_error(err, "%.200s is too long", writer->conf->collector_dir);
}

/* What is no number (an earlier release had days there) begins anew: comments that hold
 * their figures already stay as they are. */
static int load_position(writer_t *writer, hpcb_error_t *err)
{
    char path[PATH_MAX], text[64];
    uint64_t position = 0;
    ssize_t n;

    if (position_path(writer, path, err))
        return -1;
    n = hpcb_file_read(path, text, sizeof(text), NULL);
    if (n > 0 && text[n - 1] == '\n')
        text[n - 1] = '\0';
    if (n > 0)
        (void)hpcb_text_u64(text, INT64_MAX, &position);
    writer->position = (int64_t)position;
    return 0;
}

static int save_position(const writer_t *writer, hpcb_error_t *err)
{
    char path[PATH_MAX], text[32];

    if (position_path(writer, path, err))
        return -1;
    snprintf(text, sizeof(text), "%" PRId64 "\n", writer->position);
    return hpcb_file_replace(path, text, strlen(text), 0644, err);
}

typedef struct {
    hpcb_run_t run;
    int64_t seq;
} entry_t;

static double number_or(sqlite3_stmt *row, int column, double otherwise)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL
               ? otherwise
               : sqlite3_column_double(row, column);
}

static void read_row(sqlite3_stmt *row, entry_t *entry)
{
    const char *cluster = (const char *)sqlite3_column_text(row, 1);
    const char *klass = (const char *)sqlite3_column_text(row, 4);

    *entry = (entry_t){.seq = sqlite3_column_int64(row, 0)};
    snprintf(entry->run.cluster, sizeof(entry->run.cluster), "%s",
             cluster ? cluster : "");
    entry->run.job_id = (uint32_t)sqlite3_column_int64(row, 2);
    entry->run.restart = (uint32_t)sqlite3_column_int64(row, 3);
    if (!klass || hpcb_class_from_name(klass, &entry->run.klass))
        entry->run.klass = HPCB_CLASS_UNKNOWN;
    entry->run.guests_known = sqlite3_column_type(row, 5) != SQLITE_NULL;
    entry->run.guests = (uint64_t)sqlite3_column_int64(row, 5);
    entry->run.efficiency = number_or(row, 6, -1);
    entry->run.stolen_fraction = number_or(row, 7, -1);
    entry->run.cpu_seconds = number_or(row, 8, 0);
    entry->run.wall_seconds = number_or(row, 9, 0);
}

static int select_runs(sqlite3 *db, int64_t position, entry_t *entries)
{
    static const char sql[] =
        "SELECT seq, cluster, job_id, restart, class, guests_beside, efficiency,"
        " stolen_fraction, cpu_seconds, wall_seconds FROM run WHERE seq > ?1"
        " ORDER BY seq LIMIT ?2";
    sqlite3_stmt *row = NULL;
    int count = 0;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(row, 1, position);
        sqlite3_bind_int(row, 2, RUNS_MAX);
        while (count < RUNS_MAX && sqlite3_step(row) == SQLITE_ROW)
            read_row(row, &entries[count++]);
    }
    sqlite3_finalize(row);
    return count;
}

/* A database that was begun anew has smaller numbers. */
static void check_position(writer_t *writer, sqlite3 *db)
{
    int64_t last;

    if (hpcb_database_number(db, "SELECT max(0, max(seq)) FROM run", &last, NULL) ==
            0 &&
        last < writer->position)
        writer->position = last;
}

/* The file is not kept open: it may be moved. */
static int read_runs(writer_t *writer, entry_t *entries)
{
    sqlite3 *db = hpcb_database_open_reader(writer->conf->collector_dir, NULL);
    int count;

    if (!db)
        return 0;
    count = select_runs(db, writer->position, entries);
    if (count == 0)
        check_position(writer, db);
    sqlite3_close(db);
    return count;
}

static int follow(writer_t *writer, hpcb_error_t *err)
{
    static entry_t entries[RUNS_MAX];

    if (load_position(writer, err))
        return -1;
    for (;;) {
        int count = read_runs(writer, entries);

        for (int i = 0; i < count; i++) {
            write_run(writer, &entries[i].run);
            sleep_ms(1000 / writer->conf->admin_comment_rate);
        }
        if (count == 0) {
            sleep_ms(LOOK_MS);
            continue;
        }
        writer->position = entries[count - 1].seq;
        save_totals(writer);
        if (save_position(writer, err))
            return -1;
    }
}

/* The settings may change with SIGHUP, which starts this anew. */
static void __attribute__((noreturn)) rest(void)
{
    for (;;)
        pause();
}

static int work(void *arg)
{
    writer_t writer = {.conf = arg, .backoff_ms = BACKOFF_FIRST_MS};
    hpcb_error_t err;
    char *cluster = NULL;

    writer.slurm = load_slurm(&err);
    if (!writer.slurm) {
        hpcb_log(HPCB_LOG_INFO, "%s", err.text);
        rest();
    }
    while (writer.slurm->get("", 0, &cluster) == HPCBD_FAILED)
        back_off(&writer);
    recover(&writer);
    if (writer.slurm->get("", 0, &cluster) == HPCBD_NO_DBD) {
        hpcb_log(HPCB_LOG_INFO, "no slurmdbd: AdminComment is left alone");
        rest();
    }
    if (follow(&writer, &err))
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    return EXIT_FAILURE;
}

static bool is_wanted(const hpcb_conf_t *conf)
{
    return conf->admin_comment_rate > 0;
}

static hpcbd_worker_t worker = {
    .name = "hpcbd: writer", .wanted = is_wanted, .work = work};

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    return hpcbd_worker_start(&worker, daemon, err);
}

static void reload(hpcbd_t *daemon)
{
    hpcbd_worker_reload(&worker, daemon);
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    hpcbd_worker_stop(&worker);
}

const hpcbd_part_t hpcbd_writer = {
    .name = "writer", .start = start, .reload = reload, .stop = stop};
