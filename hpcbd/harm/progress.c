/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "hpcbd/harm/progress.h"
#include "sensor/sensor.h"

/* A job that wants CPUs for less of the time says nothing of what it lacks. */
#define WANTED_MIN 0.05

struct hpcbd_progress {
    hpcb_sensing_t *sensing;
    /* Of the job that was read last: experiments are of one at a time. */
    uint32_t job_id;
    uint64_t begin_us;
    hpcb_sensed_t *sensed;
};

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

hpcbd_progress_t *hpcbd_progress_new(const hpcb_node_t *node, hpcb_error_t *err)
{
    static const hpcb_sensor_t *rows[HPCB_SENSORS_MAX];
    size_t count, wanted = 0;
    const hpcb_sensor_t *const *all = hpcb_sensors(&count);
    hpcbd_progress_t *progress = calloc(1, sizeof(*progress));

    for (size_t i = 0; i < count; i++)
        if (all[i]->figures & 1U << HPCB_FIGURE_RUN_DELAY)
            rows[wanted++] = all[i];
    if (!progress) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
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
}

void hpcbd_progress_free(hpcbd_progress_t *progress)
{
    if (!progress)
        return;
    forget(progress);
    hpcb_sensing_close(progress->sensing);
    free(progress);
}

static int follow(hpcbd_progress_t *progress, const hpcbd_job_t *job)
{
    if (progress->job_id == job->state.job_id &&
        progress->begin_us == job->state.begin_us)
        return 0;
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

int hpcbd_progress_read(hpcbd_progress_t *progress, const hpcbd_job_t *job,
                        hpcbd_progress_at_t *at)
{
    hpcb_sample_t sample;

    if (follow(progress, job) < 0)
        return -1;
    hpcb_sensing_round(progress->sensing);
    hpcb_sensed_sample(progress->sensed, &sample);
    if (!sample.figure[HPCB_FIGURE_RUN_DELAY].sensor ||
        !sample.figure[HPCB_FIGURE_CPU].sensor) {
        forget(progress);
        return -1;
    }
    *at = (hpcbd_progress_at_t){
        .time_us = now_us(),
        .cpu_us = sample.figure[HPCB_FIGURE_CPU].value,
        .delay_us = sample.figure[HPCB_FIGURE_RUN_DELAY].value,
    };
    return 0;
}

double hpcbd_progress_rate(const hpcbd_progress_at_t *from,
                           const hpcbd_progress_at_t *to)
{
    double passed_us = (double)to->time_us - (double)from->time_us;
    double ran_us = (double)to->cpu_us - (double)from->cpu_us;
    double waited_us = (double)to->delay_us - (double)from->delay_us;

    if (passed_us <= 0 || ran_us <= 0 || waited_us < 0 ||
        ran_us + waited_us < WANTED_MIN * passed_us)
        return 0;
    return ran_us / (ran_us + waited_us);
}
