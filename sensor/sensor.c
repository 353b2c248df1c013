/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "sensor/meter.h"
#include "sensor/rows.h"
#include "sensor/sensor.h"

/* Sensors of memory in use get their row here. */
static const hpcb_sensor_t *const table[] = {
    &hpcb_sensor_cpu, /* one row a line */
    &hpcb_sensor_delay,        &hpcb_sensor_pressure,          &hpcb_sensor_network,
    &hpcb_sensor_fabric,       &hpcb_sensor_resctrl,           &hpcb_sensor_papi_cores,
    &hpcb_sensor_papi_sockets, &hpcb_sensor_papi_instructions,
    /* End of table */
};

struct hpcb_sensing {
    const hpcb_node_t *node;
    const hpcb_sensor_t *const *rows;
    size_t count;
    hpcb_error_t why[HPCB_SENSORS_MAX]; /* "": the sensor is there */
    bool read[HPCB_SENSORS_MAX];        /* in this round */
    void *handle[HPCB_SENSORS_MAX];     /* of rows that measure the whole node */
    uint64_t values[HPCB_SENSORS_MAX][HPCB_FIGURES];
    hpcb_sensed_t *jobs;
};

struct hpcb_sensed {
    hpcb_sensing_t *sensing;
    hpcb_sensed_t *next;
    uint32_t job_id;
    bool shared; /* another job was open at the same time */
    bool open[HPCB_SENSORS_MAX];
    void *handle[HPCB_SENSORS_MAX];
    hpcb_error_t why[HPCB_SENSORS_MAX];
    char dir[PATH_MAX]; /* its group */
};

const hpcb_sensor_t *const *hpcb_sensors(size_t *count)
{
    *count = sizeof(table) / sizeof(table[0]);
    return table;
}

static void probe(hpcb_sensing_t *sensing, size_t i)
{
    const hpcb_sensor_job_t whole = {.node = sensing->node};
    const hpcb_sensor_t *row = sensing->rows[i];
    hpcb_error_t *why = &sensing->why[i];

    if (row->probe(sensing->node, why) == 0 &&
        (!row->whole || row->open(&whole, &sensing->handle[i], why) == 0))
        why->text[0] = '\0';
}

int hpcb_sensing_open(const hpcb_node_t *node, const hpcb_sensor_t *const *rows,
                      size_t count, hpcb_sensing_t **sensing, hpcb_error_t *err)
{
    hpcb_sensing_t *made;

    if (count > HPCB_SENSORS_MAX) {
        errno = EINVAL;
        return hpcb_error(err, "%zu sensors are more than %d", count, HPCB_SENSORS_MAX);
    }
    made = calloc(1, sizeof(*made));
    if (!made)
        return hpcb_error(err, "no memory for the sensors");
    made->node = node;
    made->rows = rows;
    made->count = count;
    for (size_t i = 0; i < count; i++)
        probe(made, i);
    *sensing = made;
    return 0;
}

static bool absent(const hpcb_sensing_t *sensing, size_t i)
{
    return sensing->why[i].text[0] != '\0';
}

void hpcb_sensing_sweep(hpcb_sensing_t *sensing)
{
    for (size_t i = 0; i < sensing->count; i++) {
        if (!absent(sensing, i) && sensing->rows[i]->sweep)
            sensing->rows[i]->sweep(sensing->node);
    }
}

void hpcb_sensing_round(hpcb_sensing_t *sensing)
{
    memset(sensing->read, 0, sizeof(sensing->read));
}

void hpcb_sensing_close(hpcb_sensing_t *sensing)
{
    for (size_t i = 0; i < sensing->count; i++) {
        if (sensing->rows[i]->whole && !absent(sensing, i))
            sensing->rows[i]->close(sensing->handle[i]);
    }
    free(sensing);
}

const char *hpcb_sensing_why_not(const hpcb_sensing_t *sensing, size_t i)
{
    return absent(sensing, i) ? sensing->why[i].text : NULL;
}

static void close_one(hpcb_sensed_t *job, size_t i)
{
    if (job->open[i])
        job->sensing->rows[i]->close(job->handle[i]);
    job->open[i] = false;
}

static void open_one(hpcb_sensed_t *job, size_t i, const hpcb_sensor_job_t *about)
{
    const hpcb_sensor_t *row = job->sensing->rows[i];

    job->why[i] = job->sensing->why[i];
    if (row->whole || absent(job->sensing, i))
        return;
    job->open[i] = row->open(about, &job->handle[i], &job->why[i]) == 0;
    if (job->open[i])
        job->why[i].text[0] = '\0';
}

static void add_job(hpcb_sensing_t *sensing, hpcb_sensed_t *job)
{
    job->shared = sensing->jobs != NULL;
    for (hpcb_sensed_t *other = sensing->jobs; other; other = other->next)
        other->shared = true;
    job->next = sensing->jobs;
    sensing->jobs = job;
}

int hpcb_sensed_open(hpcb_sensing_t *sensing, uint32_t job_id, const char *place,
                     hpcb_sensed_t **job, hpcb_error_t *err)
{
    hpcb_sensed_t *made = calloc(1, sizeof(*made));
    hpcb_sensor_job_t about = {.node = sensing->node, .job_id = job_id};

    if (!made)
        return hpcb_error(err, "no memory for the sensors of a job");
    if (hpcb_meter_group(sensing->node, job_id, place, made->dir, sizeof(made->dir),
                         err) < 0) {
        free(made);
        return -1;
    }
    made->sensing = sensing;
    made->job_id = job_id;
    about.dir = made->dir;
    for (size_t i = 0; i < sensing->count; i++)
        open_one(made, i, &about);
    add_job(sensing, made);
    *job = made;
    return 0;
}

void hpcb_sensed_adopt(hpcb_sensed_t *job)
{
    const hpcb_sensing_t *sensing = job->sensing;
    const hpcb_sensor_job_t about = {
        .node = sensing->node, .job_id = job->job_id, .dir = job->dir};

    for (size_t i = 0; i < sensing->count; i++) {
        if (job->open[i] && sensing->rows[i]->adopt &&
            sensing->rows[i]->adopt(job->handle[i], &about, &job->why[i]) < 0)
            close_one(job, i);
    }
}

const char *hpcb_sensed_why_not(const hpcb_sensed_t *job, size_t i)
{
    const hpcb_error_t *why = &job->why[i];

    if (job->sensing->rows[i]->whole)
        return hpcb_sensing_why_not(job->sensing, i);
    /* Errors of an open sensor are from groups that disappeared meanwhile. */
    return why->text[0] && !job->open[i] ? why->text : NULL;
}

/* The first row that measured a figure keeps it. */
static void take_figures(const hpcb_sensed_t *job, const hpcb_sensor_t *row,
                         const uint64_t *values, hpcb_sample_t *sample)
{
    for (size_t i = 0; i < HPCB_FIGURES; i++) {
        hpcb_reading_t *reading = &sample->figure[i];

        if (!(row->figures & 1U << i) || reading->sensor)
            continue;
        *reading = (hpcb_reading_t){.value = values[i],
                                    .sensor = row->name,
                                    .shared = row->whole && job->shared};
    }
}

/* The values of a row for the job, or NULL. */
static const uint64_t *of_job(hpcb_sensed_t *job, size_t i, uint64_t *values)
{
    if (!job->open[i])
        return NULL;
    if (job->sensing->rows[i]->sample(job->handle[i], values, &job->why[i]) == 0)
        return values;
    close_one(job, i);
    return NULL;
}

/* The values of a row for the node, or NULL.  Read once in a round. */
static const uint64_t *of_node(hpcb_sensing_t *sensing, size_t i)
{
    const hpcb_sensor_t *row = sensing->rows[i];

    if (absent(sensing, i))
        return NULL;
    if (sensing->read[i])
        return sensing->values[i];
    memset(sensing->values[i], 0, sizeof(sensing->values[i]));
    sensing->read[i] =
        row->sample(sensing->handle[i], sensing->values[i], &sensing->why[i]) == 0;
    if (sensing->read[i])
        return sensing->values[i];
    row->close(sensing->handle[i]);
    return NULL;
}

void hpcb_sensed_sample(hpcb_sensed_t *job, hpcb_sample_t *sample)
{
    *sample = (hpcb_sample_t){0};
    for (size_t i = 0; i < job->sensing->count; i++) {
        const hpcb_sensor_t *row = job->sensing->rows[i];
        uint64_t own[HPCB_FIGURES] = {0};
        const uint64_t *values =
            row->whole ? of_node(job->sensing, i) : of_job(job, i, own);

        if (values)
            take_figures(job, row, values, sample);
    }
}

void hpcb_sensed_close(hpcb_sensed_t *job)
{
    hpcb_sensed_t **link = &job->sensing->jobs;

    while (*link != job)
        link = &(*link)->next;
    *link = job->next;
    for (size_t i = 0; i < job->sensing->count; i++)
        close_one(job, i);
    free(job);
}
