/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cgroup/called.h"
#include "cgroup/knob.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "hpcbd/windows/freeze.h"

#define SECOND UINT64_C(1000000000)

/* A guest that hears of its end has so long, and begins again that late. */
#define HEAR_NS       (60 * SECOND)
#define HEAR_AGAIN_NS (600 * SECOND)

/* Reasons that hold for long. */
#define LONG_REASONS                                                                   \
    (HPCBD_FREEZE_GANG | HPCBD_FREEZE_GUARD | (unsigned)HPCBD_FREEZE_CRUMBS)

/* Groups and processes that one scan asks for signals, so that a turn of the loop stays
 * short. */
#define CALLED_AT_A_TIME 128

typedef struct {
    char *dir;
    int fd;     /* hpcb_knob_write_kept */
    bool noted; /* the log names it: it may be stopped */
} level_t;

typedef struct {
    uint32_t job_id;
    unsigned reasons;  /* hpcbd_freeze_reason_t; 0: it runs */
    bool hears;        /* it goes on in spite of LONG_REASONS */
    uint64_t heard_ns; /* since when, or when it did last; 0: never */
    level_t *levels;   /* in the order in which the last look saw them */
    size_t count;
    bool found; /* by the look that is going on */
} stopped_t;

struct hpcbd_freeze {
    const hpcb_node_t *node;
    const char *state_dir;
    stopped_t *jobs[HPCBD_JOBS_MAX];
    size_t count;
    size_t levels; /* of all jobs */
    size_t turn;   /* which signals are looked for first */
    bool changed;  /* the log does not name what there is */
    bool failing;  /* and could not be replaced */
    bool full;     /* the log has said that there are too many */
};

hpcbd_freeze_t *hpcbd_freeze_new(const hpcb_node_t *node, const char *state_dir)
{
    hpcbd_freeze_t *freeze = calloc(1, sizeof(*freeze));

    if (!freeze)
        return NULL;
    freeze->node = node;
    freeze->state_dir = state_dir;
    freeze->changed = true; /* there may be a log of a daemon that died */
    return freeze;
}

/* A level that has gone is found out by the next look. */
static void write_level(level_t *level, bool stop)
{
    if (level->noted)
        hpcb_knob_write_kept(&level->fd, level->dir, HPCB_FREEZE_KNOB, stop ? "1" : "0",
                             NULL);
}

static bool is_stopped(const stopped_t *job)
{
    return job->reasons & ~(job->hears ? LONG_REASONS : 0);
}

static void write_job(stopped_t *job)
{
    for (size_t i = 0; i < job->count; i++)
        write_level(&job->levels[i], is_stopped(job));
}

static void drop_last_level(hpcbd_freeze_t *freeze, stopped_t *job)
{
    level_t *level = &job->levels[--job->count];

    if (is_stopped(job))
        write_level(level, false);
    hpcb_knob_close(&level->fd);
    free(level->dir);
    freeze->levels--;
    freeze->changed = true;
}

static void drop_job(hpcbd_freeze_t *freeze, size_t i)
{
    stopped_t *job = freeze->jobs[i];

    while (job->count)
        drop_last_level(freeze, job);
    free(job->levels);
    free(job);
    freeze->jobs[i] = freeze->jobs[--freeze->count];
}

static stopped_t *find_stopped(const hpcbd_freeze_t *freeze, uint32_t job_id)
{
    for (size_t i = 0; i < freeze->count; i++)
        if (freeze->jobs[i]->job_id == job_id)
            return freeze->jobs[i];
    return NULL;
}

static stopped_t *find_or_add(hpcbd_freeze_t *freeze, uint32_t job_id)
{
    stopped_t *job = find_stopped(freeze, job_id);

    if (job || freeze->count == HPCBD_JOBS_MAX)
        return job;
    job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->job_id = job_id;
    freeze->jobs[freeze->count++] = job;
    return job;
}

typedef struct {
    hpcbd_freeze_t *freeze;
    stopped_t *job;
    size_t seen; /* of the job's levels, the first ones */
} look_t;

/* As the last one. */
static void add_level(hpcbd_freeze_t *freeze, stopped_t *job, const char *dir)
{
    level_t *larger, level = {.fd = -1};

    if (freeze->levels == HPCB_FREEZE_LEVELS_MAX) {
        hpcb_log_once(&freeze->full, HPCB_LOG_ERROR,
                      "job %u: more than %d groups of guests' tasks on this node: the "
                      "others are not frozen",
                      job->job_id, HPCB_FREEZE_LEVELS_MAX);
        return;
    }
    larger = reallocarray(job->levels, job->count + 1, sizeof(level));
    if (!larger)
        return;
    job->levels = larger;
    level.dir = strdup(dir);
    if (!level.dir)
        return;
    job->levels[job->count++] = level;
    freeze->levels++;
    freeze->changed = true;
}

/* The next one is where it was, unless some have come or gone. */
static int see_level(const char *dir, void *arg)
{
    look_t *look = arg;
    stopped_t *job = look->job;
    size_t i = look->seen;
    level_t level;

    while (i < job->count && strcmp(job->levels[i].dir, dir) != 0)
        i++;
    if (i == job->count)
        add_level(look->freeze, job, dir);
    if (i == job->count)
        return 0;
    level = job->levels[i];
    job->levels[i] = job->levels[look->seen];
    job->levels[look->seen++] = level;
    return 0;
}

static void look_at(hpcbd_freeze_t *freeze, const hpcbd_job_t *guest)
{
    stopped_t *job = find_or_add(freeze, guest->state.job_id);
    look_t look = {.freeze = freeze, .job = job};

    if (!job)
        return;
    job->found = true;
    hpcb_freeze_levels(freeze->node, job->job_id, guest->dir, see_level, &look);
    while (job->count > look.seen)
        drop_last_level(freeze, job);
}

/* The levels that there are, as an array of freeze->levels; the caller frees it. */
static const char **list_levels(const hpcbd_freeze_t *freeze)
{
    const char **names = calloc(freeze->levels + 1, sizeof(*names));
    size_t n = 0;

    for (size_t i = 0; names && i < freeze->count; i++)
        for (size_t k = 0; k < freeze->jobs[i]->count; k++)
            names[n++] = freeze->jobs[i]->levels[k].dir;
    return names;
}

static int replace_log(hpcbd_freeze_t *freeze)
{
    hpcb_autofree const char **names = list_levels(freeze);
    hpcb_error_t err;

    hpcb_error(&err, "out of memory");
    if (names &&
        hpcb_freeze_log_replace(freeze->state_dir, names, freeze->levels, &err) == 0) {
        freeze->changed = freeze->failing = false;
        return 0;
    }
    if (!freeze->failing)
        hpcb_log(HPCB_LOG_ERROR, "%s; guests that start now are not frozen", err.text);
    freeze->failing = true;
    return -1;
}

/* The log names all levels: what is new in a stopped job is stopped. */
static void stop_new(stopped_t *job)
{
    for (size_t i = 0; i < job->count; i++) {
        level_t *level = &job->levels[i];

        if (level->noted)
            continue;
        level->noted = true;
        if (is_stopped(job))
            write_level(level, true);
    }
}

/* ---- signals ---- */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void set_hears(stopped_t *job, bool hears)
{
    bool was = is_stopped(job);

    job->hears = hears;
    if (is_stopped(job) != was)
        write_job(job);
}

/* From another level on each time: of many the budget is for some. */
static bool is_called(const stopped_t *job, size_t from, unsigned *budget)
{
    for (size_t i = 0; i < job->count && *budget; i++)
        if (hpcb_called(job->levels[(from + i) % job->count].dir, budget))
            return true;
    return false;
}

/* Who blocks a signal, or has a timer send one, gains a minute in ten and no more. */
static void hear(stopped_t *job, uint64_t time_ns, size_t from, unsigned *budget)
{
    if (job->hears && time_ns - job->heard_ns >= HEAR_NS)
        set_hears(job, false);
    if (job->hears || !(job->reasons & LONG_REASONS) ||
        (job->heard_ns && time_ns - job->heard_ns < HEAR_AGAIN_NS) ||
        !is_called(job, from, budget))
        return;
    job->heard_ns = time_ns;
    set_hears(job, true);
    hpcb_log(HPCB_LOG_INFO,
             "job %u: is asked to end while it is stopped: goes on for a "
             "minute",
             job->job_id);
}

static void hear_all(hpcbd_freeze_t *freeze)
{
    uint64_t time_ns = now_ns();
    unsigned budget = CALLED_AT_A_TIME;

    for (size_t i = 0; i < freeze->count; i++)
        hear(freeze->jobs[(freeze->turn + i) % freeze->count], time_ns,
             CALLED_AT_A_TIME / 4 * freeze->turn, &budget);
    freeze->turn++;
}

void hpcbd_freeze_look(hpcbd_freeze_t *freeze, const hpcbd_registry_t *registry)
{
    for (size_t i = 0; i < freeze->count; i++)
        freeze->jobs[i]->found = false;
    for (size_t i = 0; i < registry->count; i++)
        if (registry->jobs[i]->state.klass == HPCB_CLASS_GUEST ||
            registry->jobs[i]->gang)
            look_at(freeze, registry->jobs[i]);
    for (size_t i = freeze->count; i-- > 0;)
        if (!freeze->jobs[i]->found)
            drop_job(freeze, i);
    hear_all(freeze);
    if (!freeze->changed || replace_log(freeze) < 0)
        return;
    for (size_t i = 0; i < freeze->count; i++)
        stop_new(freeze->jobs[i]);
}

static void set_reasons(stopped_t *job, unsigned reasons)
{
    bool was = is_stopped(job);

    job->reasons = reasons;
    if (is_stopped(job) != was)
        write_job(job);
}

bool hpcbd_freeze_stop(hpcbd_freeze_t *freeze, uint32_t job_id,
                       hpcbd_freeze_reason_t reason)
{
    stopped_t *job = find_stopped(freeze, job_id);

    if (job)
        set_reasons(job, job->reasons | reason);
    return job && job->count > 0;
}

void hpcbd_freeze_go(hpcbd_freeze_t *freeze, uint32_t job_id,
                     hpcbd_freeze_reason_t reason)
{
    stopped_t *job = find_stopped(freeze, job_id);

    if (job)
        set_reasons(job, job->reasons & ~(unsigned)reason);
}

unsigned hpcbd_freeze_reasons(const hpcbd_freeze_t *freeze, uint32_t job_id)
{
    const stopped_t *job = find_stopped(freeze, job_id);

    return job ? job->reasons : 0;
}

void hpcbd_freeze_go_all(hpcbd_freeze_t *freeze, unsigned reasons)
{
    for (size_t i = 0; i < freeze->count; i++)
        set_reasons(freeze->jobs[i], freeze->jobs[i]->reasons & ~reasons);
}

void hpcbd_freeze_free(hpcbd_freeze_t *freeze)
{
    if (!freeze)
        return;
    while (freeze->count)
        drop_job(freeze, freeze->count - 1);
    if (freeze->changed)
        replace_log(freeze);
    free(freeze);
}
