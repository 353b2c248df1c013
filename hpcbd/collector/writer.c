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

#include "common/file.h"
#include "common/log.h"
#include "hpcbd/collector/conn.h"
#include "hpcbd/collector/writer_steps.h"
#include "hpcbd/slurm_module.h"
#include "hpcbd/worker.h"

/* Repeating runs after a crash is harmless, and each save waits for the disk. */
#define SAVE_MS 2000

static void sleep_ms(uint32_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000,
                            .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static void save_totals(const hpcbd_writer_t *writer)
{
    const hpcbd_writer_totals_t *totals = &writer->totals;
    char path[PATH_MAX], text[256];

    snprintf(text, sizeof(text),
             "{\"version\":1,\"written\":%" PRIu64 ",\"unchanged\":%" PRIu64
             ",\"unknown\":%" PRIu64 ",\"no_room\":%" PRIu64 "}\n",
             totals->written, totals->unchanged, totals->unknown, totals->no_room);
    if (snprintf(path, sizeof(path), "%s/writer.json", writer->dir) < (int)sizeof(path))
        (void)hpcb_file_replace(path, text, strlen(text), 0644, NULL);
}

typedef struct {
    int64_t position;
    hpcbd_writer_totals_t totals;
    uint64_t when_ms;
} saved_t;

static int save(const hpcbd_writer_t *writer, saved_t *saved, hpcb_error_t *err)
{
    int64_t position = hpcbd_writer_done(writer);
    uint64_t now_ms = hpcbd_now_ms();

    if (now_ms < saved->when_ms + SAVE_MS)
        return 0;
    if (memcmp(&writer->totals, &saved->totals, sizeof(saved->totals)) != 0)
        save_totals(writer);
    if (position != saved->position && hpcbd_writer_save(writer->dir, position, err))
        return -1;
    *saved = (saved_t){position, writer->totals, now_ms};
    return 0;
}

static int follow(hpcbd_writer_t *writer, hpcb_error_t *err)
{
    saved_t saved = {0};

    if (hpcbd_writer_load(writer->dir, &writer->read, err))
        return -1;
    saved.position = writer->read;
    for (;;) {
        uint32_t wait_ms = hpcbd_writer_step(writer, hpcbd_now_ms());

        if (save(writer, &saved, err))
            return -1;
        sleep_ms(wait_ms);
    }
}

/* The settings may change with SIGHUP, which starts this anew. */
static void __attribute__((noreturn)) rest(void)
{
    for (;;)
        pause();
}

static hpcbd_outcome_t wait_for_slurm(hpcbd_writer_t *writer)
{
    hpcbd_outcome_t outcome;

    while ((outcome = hpcbd_writer_probe(writer->slurm)) == HPCBD_FAILED)
        sleep_ms(hpcbd_writer_back_off(writer));
    hpcbd_writer_recover(writer);
    return outcome;
}

static int work(void *arg)
{
    static hpcbd_writer_t writer;
    const hpcb_conf_t *conf = arg;
    hpcb_error_t err;

    writer.dir = conf->collector_dir;
    writer.pause_ms = 1000 / conf->admin_comment_rate;
    writer.slurm = hpcbd_slurm_load(&err);
    if (!writer.slurm) {
        hpcb_log(HPCB_LOG_INFO, "AdminComment is left alone: %s", err.text);
        rest();
    }
    if (wait_for_slurm(&writer) == HPCBD_NO_DBD) {
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
