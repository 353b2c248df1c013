/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ended.h"
#include "common/log.h"
#include "hpcbd/memory/killed.h"
#include "hpcbd/memory/notice.h"
#include "hpcbd/memory/requeues.h"
#include "hpcbd/requeue.h"

/* slurmctld forgets a job MinJobAge (300 s) after its end, and cannot requeue it then.
 * A guest that harmed or starved so long ago may not do so any more. */
#define REQUEUE_SECONDS 3600
#define ANEW_SECONDS    60 /* a note that old may be of an earlier run */

static bool has_slurm(hpcbd_requeues_t *requeues)
{
    hpcb_error_t err;

    if (!requeues->slurm)
        requeues->slurm = hpcbd_slurm_load(&err);
    if (!requeues->slurm)
        hpcb_log_once(&requeues->no_slurm, HPCB_LOG_ERROR,
                      "guests that are ended are not requeued: %s", err.text);
    return requeues->slurm != NULL;
}

/* For the record of a running guest: its epilog runs as soon as slurmctld has requeued
 * it.  on: the reason of the requeue; otherwise it does not apply after all.  Another
 * reason that is stored already stays. */
static void note_reason(const hpcbd_requeues_t *requeues, uint32_t job_id,
                        hpcbd_requeue_t reason, bool on)
{
    static const char *const why[HPCBD_REQUEUE_REASONS] = {
        [HPCBD_REQUEUE_STARVED] = HPCB_ENDED_STARVED,
        [HPCBD_REQUEUE_HARM] = HPCB_ENDED_HARM,
        [HPCBD_REQUEUE_LARGE] = HPCB_ENDED_LARGE,
    };
    char known[HPCB_ENDED_MAX];

    if (!why[reason])
        return;
    hpcb_ended_load(requeues->state_dir, job_id, known);
    if (strcmp(known, on ? "" : why[reason]) == 0)
        hpcb_ended_save(requeues->state_dir, job_id, on ? why[reason] : "", NULL);
}

/* True: there is nothing left to do for the job. */
static bool requeue(hpcbd_requeues_t *requeues, uint32_t job_id, hpcbd_requeue_t reason)
{
    /* One that is too large would keep the others from being measured for good. */
    bool ended = reason == HPCBD_REQUEUE_MEMORY || reason == HPCBD_REQUEUE_KILLED ||
                 reason == HPCBD_REQUEUE_LARGE;

    note_reason(requeues, job_id, reason, true);
    switch (requeues->slurm->requeue(job_id, hpcbd_requeue_text(reason), ended)) {
    case HPCBD_DONE:
        hpcb_log(HPCB_LOG_INFO, "job %u: requeued", job_id);
        return true;
    case HPCBD_FAILED:
        note_reason(requeues, job_id, reason, false);
        return false;
    default:
        note_reason(requeues, job_id, reason, false);
        hpcb_log(HPCB_LOG_INFO, "job %u: cannot be requeued; it %s", job_id,
                 ended ? "was cancelled" : "stays here");
        return true;
    }
}

/* Return when the note was left; 0: there is none. */
static time_t time_of(const char *path)
{
    struct stat status;

    return lstat(path, &status) < 0 ? 0 : status.st_mtime;
}

/* A guest that has gone; what it ended of, Slurm knows. */
static bool requeue_killed(hpcbd_requeues_t *requeues, uint32_t job_id,
                           const char *path)
{
    hpcbd_killed_t killed = {.job_id = job_id};

    if (hpcbd_killed_read(path, &killed) < 0)
        return true;
    switch (requeues->slurm->how_it_ended(job_id, time_of(path))) {
    case HPCBD_DONE:
        break;
    case HPCBD_NO_REQUEUE:
    case HPCBD_RUNS_ANEW:
        return true;
    default:
        return false;
    }
    if (!requeue(requeues, job_id, HPCBD_REQUEUE_KILLED))
        return false;
    hpcb_log(HPCB_LOG_INFO,
             "job %u: " HPCBD_MEMORY_TEXT " (by the kernel; it used %lu MiB)", job_id,
             (unsigned long)(killed.used >> 20));
    if (killed.output[0])
        hpcbd_notice_append(killed.uid, killed.output, job_id, killed.used);
    return true;
}

/* A guest that ran when the note was left.  slurmctld would requeue one that has ended
 * well meanwhile, too. */
static bool requeue_running(hpcbd_requeues_t *requeues, uint32_t job_id,
                            hpcbd_requeue_t reason, const char *path)
{
    switch (requeues->slurm->how_it_ended(job_id, time_of(path))) {
    case HPCBD_NOT_ENDED:
        return requeue(requeues, job_id, reason);
    case HPCBD_FAILED:
        return false;
    default:
        hpcb_log(HPCB_LOG_INFO, "job %u: has ended before it was requeued", job_id);
        return true;
    }
}

/* A guest whose processes are gone.  Long after that, the requeue of another node may
 * have been served, and the next run must stay. */
static bool requeue_ended(hpcbd_requeues_t *requeues, uint32_t job_id,
                          hpcbd_requeue_t reason, const char *path)
{
    time_t then = time_of(path);

    if (time(NULL) - then > ANEW_SECONDS &&
        requeues->slurm->how_it_ended(job_id, then) == HPCBD_RUNS_ANEW) {
        hpcb_log(HPCB_LOG_INFO, "job %u: was requeued already", job_id);
        return true;
    }
    return requeue(requeues, job_id, reason);
}

static bool deal_with(hpcbd_requeues_t *requeues, const char *path, uint32_t job_id,
                      hpcbd_requeue_t reason)
{
    if (time(NULL) - time_of(path) > REQUEUE_SECONDS) {
        hpcb_log(HPCB_LOG_INFO, "job %u: is not requeued: that was to be an hour ago",
                 job_id);
        return true;
    }
    if (!has_slurm(requeues))
        return true;
    switch (reason) {
    case HPCBD_REQUEUE_KILLED:
        return requeue_killed(requeues, job_id, path);
    case HPCBD_REQUEUE_STARVED:
    case HPCBD_REQUEUE_HARM:
    case HPCBD_REQUEUE_LARGE:
        return requeue_running(requeues, job_id, reason, path);
    default:
        return requeue_ended(requeues, job_id, reason, path);
    }
}

void hpcbd_requeues_carry_out(hpcbd_requeues_t *requeues)
{
    char dir[PATH_MAX], path[PATH_MAX + NAME_MAX + 1];
    hpcb_autoclosedir DIR *handle = NULL;
    struct dirent *entry;
    hpcbd_requeue_t reason;
    uint32_t job_id;

    snprintf(dir, sizeof(dir), "%.3900s/" HPCBD_REQUEUE_DIR, requeues->state_dir);
    handle = opendir(dir);
    while (handle && (entry = readdir(handle))) {
        if (hpcbd_requeue_parse(entry->d_name, &job_id, &reason) < 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        if (deal_with(requeues, path, job_id, reason))
            unlink(path);
    }
}
