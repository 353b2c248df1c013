/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A turn of the loop changes a bounded number of threads of one job; what is left
 * follows soon.  Nothing is noted: the watchdog and the next daemon find what is left
 * by the length of the slices.
 */
#include "config.h"

#include <time.h>

#include "cgroup/slices.h"
#include "common/log.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/harm/tally.h"
#include "hpcbd/windows/windows.h"

#define MS        UINT64_C(1000000)
#define LOOK_NS   (1000 * MS)
#define SOON_NS   (50 * MS)
#define DECIDE_NS (10000 * MS)

typedef struct {
    uint32_t job_id;
    uint64_t begin_us; /* of the job */
    bool wanted;       /* false: they are being taken back */
    uint64_t from;     /* position at which to continue */
    bool changes;      /* since the last complete scan */
} long_job_t;

static struct {
    hpcb_node_t *node;
    hpcb_source_t *timer;
    long_job_t jobs[HPCBD_JOBS_MAX];
    size_t turn; /* whose is next */
    hpcbd_slices_stats_t stats;
} engine;

const hpcbd_slices_stats_t *hpcbd_slices_stats(void)
{
    return &engine.stats;
}

bool hpcbd_slices_possible(void)
{
    return engine.timer != NULL;
}

static long_job_t *find(uint32_t job_id)
{
    for (size_t i = 0; i < engine.stats.jobs; i++)
        if (engine.jobs[i].job_id == job_id)
            return &engine.jobs[i];
    return NULL;
}

static void forget(long_job_t *job)
{
    hpcbd_tally_time(job->job_id, HPCBD_TALLY_SLICED, false);
    *job = engine.jobs[--engine.stats.jobs];
}

static void decide_again(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    hpcbd_window_decide_by(HPCBD_WATCHDOG_SLICES,
                           engine.stats.jobs ? (int64_t)now.tv_sec * 1000000000 +
                                                   now.tv_nsec + (int64_t)DECIDE_NS
                                             : 0);
}

/* Return the job if it is a primary of this node, and the requested one. */
static const hpcbd_job_t *is_there(const long_job_t *job)
{
    const hpcbd_job_t *found =
        hpcbd_registry_find(hpcbd_window_registry(), job->job_id);

    return found && found->state.klass == HPCB_CLASS_PRIMARY &&
                   found->state.begin_us == job->begin_us && found->dir[0]
               ? found
               : NULL;
}

/* Return true if there is more to scan soon.  A job whose slices could not be restored
 * is tried again. */
static bool change(long_job_t *job)
{
    const hpcbd_job_t *found = is_there(job);
    int changed = -1;

    if (found)
        changed = job->wanted
                      ? hpcb_slices_lengthen(engine.node, found->dir, &job->from)
                      : hpcb_slices_restore(engine.node, found->dir, &job->from);
    job->changes |= changed > 0 || (found && changed < 0 && !job->wanted);
    if (changed >= 0 && job->from)
        return true;
    if ((changed < 0 || !job->wanted) && !job->changes)
        forget(job);
    else
        job->changes = false;
    return false;
}

static void on_turn(void *arg, uint64_t what)
{
    bool more = false;

    (void)arg;
    (void)what;
    if (!hpcbd_window_is_guarded())
        hpcbd_slices_end();
    if (engine.stats.jobs)
        more = change(&engine.jobs[engine.turn++ % engine.stats.jobs]);
    decide_again();
    if (!engine.stats.jobs)
        hpcb_timer_in(engine.timer, 0, 0);
    else
        hpcb_timer_in(engine.timer, more ? SOON_NS : LOOK_NS / engine.stats.jobs, 0);
}

/* False: there is no such job, or no place. */
static bool add(uint32_t job_id)
{
    const hpcbd_job_t *job = hpcbd_registry_find(hpcbd_window_registry(), job_id);

    if (!job || engine.stats.jobs == HPCBD_JOBS_MAX)
        return false;
    engine.jobs[engine.stats.jobs++] =
        (long_job_t){.job_id = job_id, .begin_us = job->state.begin_us, .wanted = true};
    engine.stats.given++;
    return true;
}

void hpcbd_slices_set(uint32_t job_id, bool wanted)
{
    long_job_t *job = find(job_id);

    /* If this daemon dies, the change must be undone. */
    wanted &= hpcbd_window_is_guarded();
    if (!engine.timer || (job ? job->wanted == wanted : !wanted))
        return;
    if (job)
        *job =
            (long_job_t){.job_id = job_id, .begin_us = job->begin_us, .wanted = wanted};
    else if (!add(job_id))
        return;
    hpcbd_tally_time(job_id, HPCBD_TALLY_SLICED, wanted);
    hpcb_timer_in(engine.timer, SOON_NS, 0);
    decide_again();
}

void hpcbd_slices_end(void)
{
    for (size_t i = 0; i < engine.stats.jobs; i++)
        hpcbd_slices_set(engine.jobs[i].job_id, false);
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    hpcb_error_t why;

    engine.stats = (hpcbd_slices_stats_t){.jobs = 0};
    if (hpcb_node_open("/", &engine.node, err) < 0)
        return -1;
    if (hpcb_slices_probe(engine.node, &why) < 0) {
        hpcb_log(HPCB_LOG_INFO, "guests that harm are restricted at once: %s",
                 why.text);
        return 0;
    }
    engine.timer = hpcb_loop_timer(daemon->loop, CLOCK_MONOTONIC, on_turn, NULL, err);
    return engine.timer ? 0 : -1;
}

static void stop(hpcbd_t *daemon)
{
    hpcb_error_t err;

    (void)daemon;
    if (engine.stats.jobs && hpcb_slices_release(engine.node, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    engine.stats.jobs = 0;
    if (engine.timer)
        decide_again();
    hpcb_source_remove(engine.timer);
    engine.timer = NULL;
    hpcb_node_close(engine.node);
    engine.node = NULL;
}

const hpcbd_part_t hpcbd_slices = {.name = "slices", .start = start, .stop = stop};
