/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "hpcbd/harm/pages.h"
#include "hpcbd/harm/progress.h"
#include "hpcbd/harm/taken.h"
#include "sensor/sensor.h"

#define WANTED                                                                         \
    (1U << HPCB_FIGURE_CPU | 1U << HPCB_FIGURE_RUN_DELAY |                             \
     1U << HPCB_FIGURE_INSTRUCTIONS)

typedef struct {
    uint32_t job_id;
    uint64_t begin_us;
    bool lacks; /* some figures, at its last sample */
    bool tried; /* to open it with nothing kept of others, and it lacked some */
    hpcb_sensed_t *sensed;
    hpcbd_pages_t pages;
    hpcbd_taken_t *taken;
} kept_t;

struct hpcbd_progress {
    const hpcb_node_t *node;
    const char *state_dir;
    const hpcb_sensor_t *rows[HPCB_SENSORS_MAX];
    size_t row_count;
    hpcb_sensing_t *sensing;
    size_t count;
    kept_t kept[HPCBD_PROGRESS_JOBS]; /* the last selected one is first */
    hpcb_sensed_t *current; /* of the first one, which is selected; NULL: none is */
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void choose_rows(hpcbd_progress_t *progress)
{
    size_t count;
    const hpcb_sensor_t *const *all = hpcb_sensors(&count);

    for (size_t i = 0; i < count; i++)
        if (all[i]->figures & WANTED)
            progress->rows[progress->row_count++] = all[i];
}

static void say_what_is_missing(const hpcbd_progress_t *progress)
{
    for (size_t i = 0; i < progress->row_count; i++) {
        const char *why = hpcb_sensing_why_not(progress->sensing, i);

        if (why && progress->rows[i]->figures & 1U << HPCB_FIGURE_RUN_DELAY)
            hpcb_log(HPCB_LOG_INFO,
                     "what guests cost primaries is measured without run delay: %s",
                     why);
    }
}

hpcbd_progress_t *hpcbd_progress_new(const hpcb_node_t *node, const char *state_dir,
                                     hpcb_error_t *err)
{
    hpcbd_progress_t *progress = calloc(1, sizeof(*progress));

    if (!progress) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    progress->state_dir = state_dir;
    choose_rows(progress);
    progress->node = node;
    if (hpcb_sensing_open(node, progress->rows, progress->row_count, &progress->sensing,
                          err) == 0) {
        say_what_is_missing(progress);
        return progress;
    }
    free(progress);
    return NULL;
}

static size_t find(const hpcbd_progress_t *progress, uint32_t job_id)
{
    size_t i = 0;

    while (i < progress->count && progress->kept[i].job_id != job_id)
        i++;
    return i;
}

/* Out of those kept, which stay in order. */
static kept_t take_out(hpcbd_progress_t *progress, size_t i)
{
    kept_t kept = progress->kept[i];

    progress->count--;
    memmove(&progress->kept[i], &progress->kept[i + 1],
            (progress->count - i) * sizeof(kept));
    return kept;
}

static void put_first(hpcbd_progress_t *progress, kept_t kept)
{
    memmove(&progress->kept[1], &progress->kept[0], progress->count * sizeof(kept));
    progress->count++;
    progress->kept[0] = kept;
    progress->current = kept.sensed;
}

static void forget(hpcbd_progress_t *progress, size_t i)
{
    kept_t kept = take_out(progress, i);

    if (kept.sensed == progress->current)
        progress->current = NULL;
    hpcbd_pages_close(&kept.pages);
    hpcbd_taken_free(kept.taken);
    hpcb_sensed_close(kept.sensed);
}

/* But for the first ones. */
static void forget_but(hpcbd_progress_t *progress, size_t first)
{
    while (progress->count > first)
        forget(progress, progress->count - 1);
}

void hpcbd_progress_free(hpcbd_progress_t *progress)
{
    if (!progress)
        return;
    forget_but(progress, 0);
    hpcb_sensing_close(progress->sensing);
    free(progress);
}

void hpcbd_progress_end(hpcbd_progress_t *progress, uint32_t job_id)
{
    size_t i = find(progress, job_id);

    if (i < progress->count)
        forget(progress, i);
}

/* True if a sensor that the node has gives nothing. */
static bool lacks_some(const hpcbd_progress_t *progress, const hpcb_sample_t *sample)
{
    unsigned wanted = 0;

    for (size_t i = 0; i < progress->row_count; i++)
        if (!hpcb_sensing_why_not(progress->sensing, i))
            wanted |= progress->rows[i]->figures;
    for (size_t i = 0; i < HPCB_FIGURES; i++)
        if (wanted & 1U << i && !sample->figure[i].sensor)
            return true;
    return false;
}

/* Of the job that is selected. */
static void take_sample(hpcbd_progress_t *progress, hpcb_sample_t *sample)
{
    hpcb_sensing_round(progress->sensing);
    hpcb_sensed_sample(progress->current, sample);
    progress->kept[0].lacks = lacks_some(progress, sample);
}

static int open_first(hpcbd_progress_t *progress, const hpcbd_job_t *job)
{
    kept_t kept = {.job_id = job->state.job_id, .begin_us = job->state.begin_us};

    if (progress->count == HPCBD_PROGRESS_JOBS)
        forget(progress, progress->count - 1);
    kept.taken = hpcbd_taken_new(progress->node, NULL);
    if (!kept.taken || hpcb_sensed_open(progress->sensing, kept.job_id, job->dir,
                                        &kept.sensed, NULL) < 0) {
        hpcbd_taken_free(kept.taken);
        return -1;
    }
    put_first(progress, kept);
    return 0;
}

/* The first sample opens files, too. */
static int open_and_try(hpcbd_progress_t *progress, const hpcbd_job_t *job)
{
    hpcb_sample_t sample;

    if (open_first(progress, job) < 0)
        return -1;
    take_sample(progress, &sample);
    return 0;
}

/* All jobs share a number of files (sensor/stat.h): what is kept of others may leave
 * this one without.  The begun ones before it are to be read with it. */
static int open_new(hpcbd_progress_t *progress, const hpcbd_job_t *job, size_t begun)
{
    if (open_and_try(progress, job) < 0)
        return -1;
    if (progress->count > begun + 1 && progress->kept[0].lacks) {
        forget_but(progress, begun + 1);
        forget(progress, 0);
        if (open_and_try(progress, job) < 0)
            return -1;
    }
    progress->kept[0].tried = progress->kept[0].lacks;
    return 0;
}

/* One that has lost some since is opened anew. */
static bool is_good(const kept_t *kept, const hpcbd_job_t *job)
{
    return kept->begin_us == job->state.begin_us && (!kept->lacks || kept->tried);
}

/* Sensors stay open, so that threads that have ended go on to count. */
static int follow(hpcbd_progress_t *progress, const hpcbd_job_t *job, size_t begun)
{
    size_t i = find(progress, job->state.job_id);

    progress->current = NULL;
    if (i < progress->count && !is_good(&progress->kept[i], job)) {
        forget(progress, i);
        i = progress->count;
    }
    if (i == progress->count)
        return open_new(progress, job, begun);
    put_first(progress, take_out(progress, i));
    hpcb_sensed_adopt(progress->current);
    return 0;
}

/* A step that has begun since has other pages. */
int hpcbd_progress_begin(hpcbd_progress_t *progress, const hpcbd_job_t *job,
                         size_t begun, const hpcbd_registry_t *registry,
                         hpcbd_near_t *near)
{
    if (follow(progress, job, begun) < 0)
        return -1;
    hpcbd_pages_close(&progress->kept[0].pages);
    hpcbd_pages_open(&progress->kept[0].pages, progress->state_dir, job);
    hpcbd_taken_begin(progress->kept[0].taken, registry, near, job);
    return 0;
}

int hpcbd_progress_select(hpcbd_progress_t *progress, uint32_t job_id)
{
    size_t i = find(progress, job_id);

    if (i == progress->count)
        return -1;
    put_first(progress, take_out(progress, i));
    return 0;
}

/* The time is that of the pages: a count of iterations is by it, the other figures are
 * by one another, and counters of thousands of threads take milliseconds. */
int hpcbd_progress_read(hpcbd_progress_t *progress, hpcb_progress_at_t *at)
{
    hpcb_sample_t sample;
    uint64_t time_ns, guests_us = 0, near_us = 0;
    bool has_guests;

    if (!progress->current)
        return -1;
    take_sample(progress, &sample);
    if (!sample.figure[HPCB_FIGURE_CPU].sensor) {
        forget(progress, 0);
        return -1;
    }
    has_guests = hpcbd_taken_read(progress->kept[0].taken, &guests_us, &near_us);
    time_ns = now_ns();
    *at = (hpcb_progress_at_t){
        .time_us = time_ns / 1000,
        .cpu_us = sample.figure[HPCB_FIGURE_CPU].value,
        .has_delay = sample.figure[HPCB_FIGURE_RUN_DELAY].sensor != NULL,
        .delay_us = sample.figure[HPCB_FIGURE_RUN_DELAY].value,
        .has_instructions = sample.figure[HPCB_FIGURE_INSTRUCTIONS].sensor != NULL,
        .instructions = sample.figure[HPCB_FIGURE_INSTRUCTIONS].value,
        .has_guests = has_guests,
        .guests_us = guests_us,
        .near_us = near_us,
    };
    at->has_iterations =
        hpcbd_pages_read(&progress->kept[0].pages, time_ns, &at->iterations);
    return 0;
}
