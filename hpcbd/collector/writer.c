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

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/tag.h"
#include "common/log.h"
#include "hpcbd/slurm_module.h"
#include "hpcbd/worker.h"
#include "hpcbd/collector/writer_runs.h"

#define LOOK_MS 2000

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
    after = hpcb_tag_add_run(before, run, NULL);
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

static int follow(writer_t *writer, hpcb_error_t *err)
{
    static hpcbd_writer_run_t runs[HPCBD_WRITER_RUNS];
    const char *dir = writer->conf->collector_dir;
    int64_t position;

    if (hpcbd_writer_load(dir, &position, err))
        return -1;
    for (;;) {
        int count = hpcbd_writer_next(dir, &position, runs);

        for (int i = 0; i < count; i++) {
            write_run(writer, &runs[i].run);
            sleep_ms(1000 / writer->conf->admin_comment_rate);
        }
        if (count == 0) {
            sleep_ms(LOOK_MS);
            continue;
        }
        position = runs[count - 1].seq;
        save_totals(writer);
        if (hpcbd_writer_save(dir, position, err))
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

    writer.slurm = hpcbd_slurm_load(&err);
    if (!writer.slurm) {
        hpcb_log(HPCB_LOG_INFO, "AdminComment is left alone: %s", err.text);
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
    return conf->admin_comment_tag && conf->admin_comment_rate > 0;
}

static hpcbd_worker_t worker = {
    .name = "hpcbd: writer", .wanted = is_wanted, .work = work};

const hpcbd_part_t hpcbd_writer = {.name = "writer", .worker = &worker};
