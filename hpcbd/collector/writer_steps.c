/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/tag.h"
#include "hpcbd/collector/writer_steps.h"

#define LOOK_MS 2000

#define BACKOFF_FIRST_MS 1000
#define BACKOFF_MAX_MS   60000

uint32_t hpcbd_writer_back_off(hpcbd_writer_t *writer)
{
    uint32_t wait_ms = writer->backoff_ms ? writer->backoff_ms : BACKOFF_FIRST_MS;

    hpcb_log_once(&writer->away, HPCB_LOG_ERROR, "AdminComment waits for slurmdbd");
    writer->backoff_ms = 2 * wait_ms < BACKOFF_MAX_MS ? 2 * wait_ms : BACKOFF_MAX_MS;
    return wait_ms;
}

void hpcbd_writer_recover(hpcbd_writer_t *writer)
{
    if (writer->away)
        hpcb_log(HPCB_LOG_INFO, "slurmdbd takes AdminComment again");
    writer->away = false;
    writer->backoff_ms = 0;
}

hpcbd_outcome_t hpcbd_writer_probe(const hpcbd_slurm_t *slurm)
{
    char *comment = NULL;
    hpcbd_outcome_t outcome = slurm->get("", 0, &comment);

    free(comment);
    return outcome;
}

/* slurmdbd's SQL (writer_slurm.h). */
static bool is_harmless(const char *comment)
{
    return !strpbrk(comment, "'\\");
}

static hpcbd_outcome_t change_comment(hpcbd_writer_t *writer, const hpcb_run_t *run,
                                      const char *before)
{
    hpcb_autofree char *after = hpcb_tag_add_run(before, run, NULL);
    hpcbd_outcome_t outcome = HPCBD_DONE;

    if (!after || !is_harmless(after)) {
        writer->totals.no_room++;
    } else if (strcmp(before, after) == 0) {
        writer->totals.unchanged++;
    } else {
        outcome = writer->slurm->set(run->cluster, run->job_id, after);
        writer->totals.written += outcome == HPCBD_DONE;
    }
    return outcome;
}

static hpcbd_outcome_t write_run(hpcbd_writer_t *writer, const hpcb_run_t *run)
{
    hpcb_autofree char *before = NULL;
    hpcbd_outcome_t outcome = writer->slurm->get(run->cluster, run->job_id, &before);

    return outcome == HPCBD_DONE ? change_comment(writer, run, before) : outcome;
}

static void put_off(hpcbd_writer_t *writer, hpcbd_queued_t *entry, uint64_t now_ms,
                    bool refused)
{
    uint32_t job_id = entry->what.run.job_id;

    if (hpcbd_queue_put_off(&writer->queue, entry, now_ms))
        return;
    writer->totals.unknown++;
    if (refused)
        hpcb_log_once(&writer->refuses, HPCB_LOG_ERROR,
                      "slurmdbd refuses the AdminComment of job %" PRIu32, job_id);
}

/* If slurmdbd answers other questions, the failure is this run's own. */
static uint32_t fail(hpcbd_writer_t *writer, hpcbd_queued_t *entry, uint64_t now_ms)
{
    if (hpcbd_writer_probe(writer->slurm) == HPCBD_FAILED)
        return hpcbd_writer_back_off(writer);
    hpcbd_writer_recover(writer);
    put_off(writer, entry, now_ms, true);
    return writer->pause_ms;
}

static uint32_t try_run(hpcbd_writer_t *writer, hpcbd_queued_t *entry, uint64_t now_ms)
{
    hpcbd_outcome_t outcome = write_run(writer, &entry->what.run);

    if (outcome == HPCBD_FAILED)
        return fail(writer, entry, now_ms);
    hpcbd_writer_recover(writer);
    if (outcome == HPCBD_NOT_ENDED) {
        put_off(writer, entry, now_ms, false);
        return writer->pause_ms;
    }
    writer->totals.unknown += outcome != HPCBD_DONE;
    if (outcome == HPCBD_DONE)
        writer->refuses = false;
    hpcbd_queue_remove(&writer->queue, entry);
    return writer->pause_ms;
}

static void look(hpcbd_writer_t *writer, uint64_t now_ms)
{
    hpcbd_writer_run_t runs[HPCBD_WRITER_RUNS];
    size_t room = hpcbd_queue_room(&writer->queue);
    int most = room < HPCBD_WRITER_RUNS ? (int)room : HPCBD_WRITER_RUNS;
    int count;

    if (most == 0 || now_ms < writer->look_ms)
        return;
    count = hpcbd_writer_next(writer->dir, &writer->read, runs, most);
    for (int i = 0; i < count; i++)
        hpcbd_queue_add(&writer->queue, &runs[i], now_ms);
    if (count > 0)
        writer->read = runs[count - 1].seq;
    if (count < most)
        writer->look_ms = now_ms + LOOK_MS;
}

/* Until the database is asked, or a run of the queue is due. */
static uint32_t until_next(const hpcbd_writer_t *writer, uint64_t now_ms)
{
    uint64_t next_ms = hpcbd_queue_next_ms(&writer->queue);

    if (hpcbd_queue_room(&writer->queue) > 0 && writer->look_ms < next_ms)
        next_ms = writer->look_ms;
    return next_ms > now_ms ? (uint32_t)(next_ms - now_ms) : 0;
}

uint32_t hpcbd_writer_step(hpcbd_writer_t *writer, uint64_t now_ms)
{
    hpcbd_queued_t *entry;

    look(writer, now_ms);
    entry = hpcbd_queue_due(&writer->queue, now_ms);
    return entry ? try_run(writer, entry, now_ms) : until_next(writer, now_ms);
}

int64_t hpcbd_writer_done(const hpcbd_writer_t *writer)
{
    return hpcbd_queue_position(&writer->queue, writer->read);
}
