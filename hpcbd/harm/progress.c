/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "hpcbd/harm/pages.h"
#include "hpcbd/harm/progress.h"
#include "sensor/sensor.h"

#define WANTED (1U << HPCB_FIGURE_RUN_DELAY | 1U << HPCB_FIGURE_INSTRUCTIONS)

struct hpcbd_progress {
    const char *state_dir;
    hpcb_sensing_t *sensing;
    /* Of the job that was begun last: experiments are of one at a time. */
    uint32_t job_id;
    uint64_t begin_us;
    hpcb_sensed_t *sensed;
    hpcbd_pages_t pages;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

hpcbd_progress_t *hpcbd_progress_new(const hpcb_node_t *node, const char *state_dir,
                                     hpcb_error_t *err)
{
    static const hpcb_sensor_t *rows[HPCB_SENSORS_MAX];
    size_t count, wanted = 0;
    const hpcb_sensor_t *const *all = hpcb_sensors(&count);
    hpcbd_progress_t *progress = calloc(1, sizeof(*progress));

    for (size_t i = 0; i < count; i++)
        if (all[i]->figures & WANTED)
            rows[wanted++] = all[i];
    if (!progress) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    progress->state_dir = state_dir;
    if (hpcb_sensing_open(node, rows, wanted, &progress->sensing, err) == 0)
        return progress;
    free(progress);
    return NULL;
}

static void forget(hpcbd_progress_t *progress)
{
    if (progress->sensed)
        hpcb_sensed_close(progress->sensed);
    progress->sensed = NULL;
    progress->job_id = 0;
    hpcbd_pages_close(&progress->pages);
}

void hpcbd_progress_free(hpcbd_progress_t *progress)
{
    if (!progress)
        return;
    forget(progress);
    hpcb_sensing_close(progress->sensing);
    free(progress);
}

/* Sensors stay open, so that threads that have ended go on to count. */
static int follow(hpcbd_progress_t *progress, const hpcbd_job_t *job)
{
    if (progress->job_id == job->state.job_id &&
        progress->begin_us == job->state.begin_us) {
        hpcb_sensed_adopt(progress->sensed);
        return 0;
    }
    forget(progress);
    if (hpcb_sensed_open(progress->sensing, job->state.job_id, job->dir,
                         &progress->sensed, NULL) < 0) {
        progress->sensed = NULL;
        return -1;
    }
    progress->job_id = job->state.job_id;
    progress->begin_us = job->state.begin_us;
    return 0;
}

/* A step that has begun since has other pages. */
int hpcbd_progress_begin(hpcbd_progress_t *progress, const hpcbd_job_t *job)
{
    if (follow(progress, job) < 0)
        return -1;
    hpcbd_pages_close(&progress->pages);
    hpcbd_pages_open(&progress->pages, progress->state_dir, job);
    return 0;
}

/* The time is that of the pages: a count of iterations is by it, the other figures are
 * by one another, and counters of thousands of threads take milliseconds. */
int hpcbd_progress_read(hpcbd_progress_t *progress, hpcb_progress_at_t *at)
{
    hpcb_sample_t sample;
    uint64_t time_ns;

    if (!progress->sensed)
        return -1;
    hpcb_sensing_round(progress->sensing);
    hpcb_sensed_sample(progress->sensed, &sample);
    if (!sample.figure[HPCB_FIGURE_RUN_DELAY].sensor ||
        !sample.figure[HPCB_FIGURE_CPU].sensor) {
        forget(progress);
        return -1;
    }
    time_ns = now_ns();
    *at = (hpcb_progress_at_t){
        .time_us = time_ns / 1000,
        .cpu_us = sample.figure[HPCB_FIGURE_CPU].value,
        .delay_us = sample.figure[HPCB_FIGURE_RUN_DELAY].value,
        .has_instructions = sample.figure[HPCB_FIGURE_INSTRUCTIONS].sensor != NULL,
        .instructions = sample.figure[HPCB_FIGURE_INSTRUCTIONS].value,
    };
    at->has_iterations = hpcbd_pages_read(&progress->pages, time_ns, &at->iterations);
    return 0;
}
