/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cgroup/called.h"
#include "cgroup/knob.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "hpcbd/requeue.h"
#include "hpcbd/windows/freeze.h"

#define SECOND UINT64_C(1000000000)

/* A guest that runs to receive its end does so for this time, and again after the
 * second one at the earliest. */
#define HEAR_NS       (60 * SECOND)
#define HEAR_AGAIN_NS (600 * SECOND)

/* A job that has waited so long for its turn is paused. */
#define PAUSED_NS (30 * SECOND)

/* So long Slurm has to requeue a guest (hpcbd/memory/requeues.c). */
#define SENT_NS (3600 * SECOND)

/* Reasons that hold for long, and these with those that may. */
#define HELD_REASONS (HPCBD_FREEZE_GUARD | (unsigned)HPCBD_FREEZE_CRUMBS)
#define LONG_REASONS (HELD_REASONS | HPCBD_FREEZE_GANG)

/* Reasons that measure or limit the cost of a guest. */
#define HARM_REASONS (HPCBD_FREEZE_GUARD | (unsigned)HPCBD_FREEZE_EXPERIMENT)

/* Groups and processes that one scan asks for signals, so that a turn of the loop stays
 * short. */
#define CALLED_AT_A_TIME 128

typedef struct {
    char *dir;
    int fd;       /* hpcb_knob_write_kept */
    bool noted;   /* the log names it: it may be stopped */
    bool stopped; /* by the last write that the kernel took */
} level_t;

typedef struct {
    uint32_t job_id;
    uint64_t begin_us; /* of the job: a requeued one is another */
    unsigned reasons;  /* hpcbd_freeze_reason_t; 0: it runs */
    uint64_t gang_ns;  /* since when it waits for its turn; 0: it does not */
    bool paused;       /* it has done so for long */
    bool hears;        /* it goes on in spite of LONG_REASONS */
    uint64_t heard_ns; /* since when, or when it did last; 0: never */
    uint64_t sent_ns;  /* when the requeue was requested from Slurm; 0: not */
    level_t *levels;   /* in the order of the last scan */
    size_t count;
    bool guest;  /* or a primary that takes turns */
    bool unfit;  /* a primary, not all of whose levels have a place: none has */
    bool lacks;  /* a guest, some of whose levels have no place: they run on */
    bool told;   /* the log has said so */
    bool failed; /* the log has said that a level cannot be written */
    bool found;  /* by the present scan */
} stopped_t;

struct hpcbd_freeze {
    const hpcb_node_t *node;
    const char *state_dir;
    stopped_t *jobs[HPCBD_JOBS_MAX];
    size_t count;
    size_t levels[2]; /* of all primaries, of all guests */
    size_t turn;      /* first job to check for signals */
    bool changed;     /* the log does not name what there is */
    bool failing;     /* and could not be replaced */
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

/* A level that has disappeared is detected by the next scan, and nothing runs in it.  A
 * write that the kernel refuses is retried by the next scan. */
static void write_level(stopped_t *job, level_t *level, bool stop)
{
    hpcb_error_t err;

    if (!level->noted)
        return;
    if (hpcb_knob_write_kept(&level->fd, level->dir, HPCB_FREEZE_KNOB, stop ? "1" : "0",
                             &err) == 0 ||
        hpcb_knob_gone(errno))
        level->stopped = stop;
    else
        hpcb_log_once(&job->failed, HPCB_LOG_ERROR,
                      "job %u: not all of its groups of tasks can be %s: %s",
                      job->job_id, stop ? "frozen" : "set going", err.text);
}

/* A job that only waits for its turn receives its end in its turn. */
static bool is_held(const stopped_t *job)
{
    return job->reasons & HELD_REASONS || job->paused;
}

/* It should be. */
static bool is_stopped(const stopped_t *job)
{
    return job->reasons & ~(job->hears && is_held(job) ? LONG_REASONS : 0);
}

static void write_job(stopped_t *job)
{
    for (size_t i = 0; i < job->count; i++)
        write_level(job, &job->levels[i], is_stopped(job));
}

/* Return whether each level of the last scan is as it should be. */
static bool is_as_wanted(const stopped_t *job)
{
    bool good = !job->lacks;

    for (size_t i = 0; good && i < job->count; i++)
        good = job->levels[i].noted && job->levels[i].stopped == is_stopped(job);
    return good;
}

static void drop_last_level(hpcbd_freeze_t *freeze, stopped_t *job)
{
    level_t *level = &job->levels[--job->count];

    if (level->stopped)
        write_level(job, level, false);
    hpcb_knob_close(&level->fd);
    free(level->dir);
    freeze->levels[job->guest]--;
    freeze->changed = true;
}

static void drop_levels(hpcbd_freeze_t *freeze, stopped_t *job)
{
    while (job->count)
        drop_last_level(freeze, job);
}

static void drop_job(hpcbd_freeze_t *freeze, size_t i)
{
    stopped_t *job = freeze->jobs[i];

    drop_levels(freeze, job);
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

/* Half a primary that runs while the other half waits for its turn is useless: it has
 * no level at all.  Each stopped level of a guest reduces harm: it has one less. */
static void give_up(hpcbd_freeze_t *freeze, stopped_t *job)
{
    if (job->guest)
        drop_last_level(freeze, job);
    else
        drop_levels(freeze, job);
    job->unfit = !job->guest;
    job->lacks = job->guest;
}

static void say_too_many(stopped_t *job)
{
    hpcb_log_once(&job->told, HPCB_LOG_ERROR,
                  "job %u: not all of its groups of tasks can be frozen (%s have %d on "
                  "this node): %s",
                  job->job_id, job->guest ? "guests" : "primaries",
                  HPCBD_FREEZE_LEVELS_MAX,
                  job->guest ? "the others run on" : "none of them is");
}

/* Return the job with the most levels of its kind; job if others have as many or one
 * more, because that level would move to and fro. */
static stopped_t *largest(const hpcbd_freeze_t *freeze, stopped_t *job)
{
    stopped_t *most = job;

    for (size_t i = 0; i < freeze->count; i++)
        if (freeze->jobs[i]->guest == job->guest &&
            freeze->jobs[i]->count > most->count + (most == job))
            most = freeze->jobs[i];
    return most;
}

/* A job with many levels takes none from those with few.  Return false if there is no
 * place for job. */
static bool make_place(hpcbd_freeze_t *freeze, stopped_t *job)
{
    while (freeze->levels[job->guest] == HPCBD_FREEZE_LEVELS_MAX) {
        stopped_t *most = largest(freeze, job);

        if (most == job)
            return false;
        give_up(freeze, most);
        say_too_many(most);
    }
    return true;
}

/* As the last one.  False: there is no place, or no memory. */
static bool add_level(hpcbd_freeze_t *freeze, stopped_t *job, const char *dir)
{
    level_t *larger, level = {.fd = -1};

    if (!make_place(freeze, job))
        return false;
    larger = reallocarray(job->levels, job->count + 1, sizeof(level));
    if (!larger)
        return false;
    job->levels = larger;
    level.dir = strdup(dir);
    if (!level.dir)
        return false;
    job->levels[job->count++] = level;
    freeze->levels[job->guest]++;
    freeze->changed = true;
    return true;
}

/* Note that there is no place for a level.  A result other than 0: no further ones need
 * to be searched. */
static int lack_place(look_t *look)
{
    say_too_many(look->job);
    look->job->lacks = look->job->guest;
    if (look->job->guest)
        return look->seen == look->job->count;
    give_up(look->freeze, look->job);
    return 1;
}

/* The next level is at its old position, unless some have appeared or disappeared. */
static int see_level(const char *dir, void *arg)
{
    look_t *look = arg;
    stopped_t *job = look->job;
    size_t i = look->seen;
    level_t level;

    while (i < job->count && strcmp(job->levels[i].dir, dir) != 0)
        i++;
    if (i == job->count && !add_level(look->freeze, job, dir))
        return lack_place(look);
    level = job->levels[i];
    job->levels[i] = job->levels[look->seen];
    job->levels[look->seen++] = level;
    return 0;
}

typedef struct {
    size_t count, most;
} count_t;

static int count_level(const char *dir, void *arg)
{
    count_t *levels = arg;

    (void)dir;
    return ++levels->count > levels->most;
}

/* Is there a place for all levels of a job that had none? */
static bool fits(const hpcbd_freeze_t *freeze, const stopped_t *job, const char *dir)
{
    count_t levels = {.most = HPCBD_FREEZE_LEVELS_MAX - freeze->levels[job->guest]};

    return hpcb_freeze_levels(freeze->node, job->job_id, dir, job->guest, count_level,
                              &levels) == 0;
}

static bool is_guest(const hpcbd_job_t *job)
{
    return job->state.klass == HPCB_CLASS_GUEST;
}

/* State of an earlier run is void. */
static void begin_anew(hpcbd_freeze_t *freeze, stopped_t *job, const hpcbd_job_t *seen)
{
    if (job->guest != is_guest(seen))
        drop_levels(freeze, job);
    job->guest = is_guest(seen);
    job->begin_us = seen->state.begin_us;
    job->unfit = job->told = job->failed = false;
    job->sent_ns = 0;
}

/* again: it is time to scan it if it is unfit. */
static void look_at(hpcbd_freeze_t *freeze, const hpcbd_job_t *seen, bool again)
{
    stopped_t *job = find_or_add(freeze, seen->state.job_id);
    look_t look = {.freeze = freeze, .job = job};

    if (!job)
        return;
    job->found = true;
    if (job->guest != is_guest(seen) || job->begin_us != seen->state.begin_us)
        begin_anew(freeze, job, seen);
    if (job->unfit && !(again && fits(freeze, job, seen->dir)))
        return;
    job->unfit = job->lacks = false;
    hpcb_freeze_levels(freeze->node, job->job_id, seen->dir, job->guest, see_level,
                       &look);
    while (job->count > look.seen)
        drop_last_level(freeze, job);
}

static size_t all_levels(const hpcbd_freeze_t *freeze)
{
    return freeze->levels[false] + freeze->levels[true];
}

/* The levels that there are, as an array of all_levels(); the caller frees it. */
static const char **list_levels(const hpcbd_freeze_t *freeze)
{
    const char **names = calloc(all_levels(freeze) + 1, sizeof(*names));
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
    if (names && hpcb_freeze_log_replace(freeze->state_dir, names, all_levels(freeze),
                                         &err) == 0) {
        freeze->changed = freeze->failing = false;
        return 0;
    }
    if (!freeze->failing)
        hpcb_log(HPCB_LOG_ERROR, "%s; guests that start now are not frozen", err.text);
    freeze->failing = true;
    return -1;
}

/* The log names all levels. */
static void note_levels(hpcbd_freeze_t *freeze)
{
    for (size_t i = 0; i < freeze->count; i++)
        for (size_t k = 0; k < freeze->jobs[i]->count; k++)
            freeze->jobs[i]->levels[k].noted = true;
}

/* Stop new levels of a stopped job, and retry failed writes. */
static void settle(stopped_t *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->levels[i].stopped != is_stopped(job))
            write_level(job, &job->levels[i], is_stopped(job));
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

/* A guest that blocks a signal, or lets a timer send one, gains no more than a minute
 * in ten. */
static void hear(stopped_t *job, uint64_t time_ns, size_t from, unsigned *budget)
{
    if (job->hears && time_ns - job->heard_ns >= HEAR_NS)
        set_hears(job, false);
    job->paused = job->gang_ns && time_ns - job->gang_ns >= PAUSED_NS;
    if (job->hears || !is_held(job) ||
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
    /* Of those that are unfit one at a time: they are the ones that take long. */
    for (size_t i = 0; i < registry->count; i++)
        if (is_guest(registry->jobs[i]) || registry->jobs[i]->gang)
            look_at(freeze, registry->jobs[i], i == freeze->turn % registry->count);
    for (size_t i = freeze->count; i-- > 0;)
        if (!freeze->jobs[i]->found)
            drop_job(freeze, i);
    hear_all(freeze);
    if (freeze->changed && replace_log(freeze) == 0)
        note_levels(freeze);
    for (size_t i = 0; i < freeze->count; i++)
        settle(freeze->jobs[i]);
}

/* Since when it waits for its turn, now that it has these reasons. */
static void note_turn(stopped_t *job, unsigned reasons)
{
    if (!(reasons & HPCBD_FREEZE_GANG)) {
        job->gang_ns = 0;
        job->paused = false;
    } else if (!job->gang_ns) {
        job->gang_ns = now_ns();
    }
}

static void set_reasons(stopped_t *job, unsigned reasons)
{
    bool was = is_stopped(job);

    note_turn(job, reasons);
    job->reasons = reasons;
    if (is_stopped(job) != was)
        write_job(job);
}

/* A guest of which not all is stopped runs on unmeasured and unbounded: not here. */
static void send_away(const hpcbd_freeze_t *freeze, stopped_t *job)
{
    hpcb_error_t err;

    if (!job->lacks || !(job->reasons & HARM_REASONS) ||
        (job->sent_ns && now_ns() - job->sent_ns < SENT_NS))
        return;
    if (hpcbd_requeue_note(freeze->state_dir, job->job_id, HPCBD_REQUEUE_LARGE,
                           job->count, &err) < 0) {
        hpcb_log_once(&job->failed, HPCB_LOG_ERROR, "job %u: %s; it is not requeued",
                      job->job_id, err.text);
        return;
    }
    job->sent_ns = now_ns();
    hpcb_log(HPCB_LOG_INFO,
             "job %u: what it costs primaries cannot be found out, because it has too "
             "many groups of tasks: Slurm is asked to requeue it",
             job->job_id);
}

bool hpcbd_freeze_stop(hpcbd_freeze_t *freeze, uint32_t job_id,
                       hpcbd_freeze_reason_t reason)
{
    stopped_t *job = find_stopped(freeze, job_id);

    if (!job)
        return false;
    set_reasons(job, job->reasons | reason);
    send_away(freeze, job);
    return job->count > 0 && is_as_wanted(job);
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

bool hpcbd_freeze_hears(const hpcbd_freeze_t *freeze, uint32_t job_id)
{
    const stopped_t *job = find_stopped(freeze, job_id);

    return job && job->hears && is_held(job);
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
