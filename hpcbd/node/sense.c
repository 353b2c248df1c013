/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cgroup/node.h"
#include "common/log.h"
#include "common/measured.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/harm/experiment.h"
#include "hpcbd/harm/tally.h"
#include "hpcbd/node/registry.h"
#include "hpcbd/node/sense.h"
#include "hpcbd/windows/windows.h"
#include "policy/rate.h"
#include "sensor/sensor.h"

#define QUANTUM_NS (HPCB_RATE_QUANTUM_US * UINT64_C(1000))

/* The registry reads a new job's record shortly after the notification; the job's
 * traffic before that is not counted.  If it is later, the next tick finds it. */
#define SOON_NS    UINT64_C(25000000)
#define SOON_TRIES 8

/* After so many ticks without any job they come less often. */
#define REST_TICKS 20
#define REST_NS    (10 * QUANTUM_NS)

#define SAVE_TICKS 20 /* files are written every 10 s, and when a job ends */

/* Figures in records; CPU time and memory in use have other sources. */
#define WANTED                                                                         \
    (1U << HPCB_FIGURE_NETWORK_RX | 1U << HPCB_FIGURE_NETWORK_TX |                     \
     1U << HPCB_FIGURE_FABRIC_RX | 1U << HPCB_FIGURE_FABRIC_TX |                       \
     1U << HPCB_FIGURE_TRANSFER)

/* One counter of a job: what a daemon before this one has seen, and what is new. */
typedef struct {
    hpcb_measure_t before;
    hpcb_rate_t rate;
    char why[HPCB_MEASURED_WHY_MAX]; /* "": it counts */
} counter_t;

typedef struct {
    uint32_t job_id;
    hpcb_class_t klass;
    hpcb_sensed_t *sensed;
    counter_t network, memory;
    hpcb_guest_cost_t cost; /* result of an earlier daemon */
    uint64_t elected_us;    /* likewise, and what it had when it left the gang */
    uint64_t begin_us;
    hpcb_restraint_t restraint;
} job_t;

static struct {
    hpcbd_t *daemon;
    hpcb_node_t *node;
    hpcb_sensing_t *sensing;
    const hpcb_sensor_t *rows[HPCB_SENSORS_MAX];
    size_t row_count;
    hpcb_source_t *tick, *soon;
    unsigned ticks, rests; /* rests: ticks without jobs, in a row */
    uint32_t awaited;      /* the job of the last notification */
    unsigned tries;        /* to find it, that are left; 0: soon is off */
    size_t count;
    job_t *jobs[HPCBD_JOBS_MAX];
} sense;

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static job_t *find(uint32_t job_id)
{
    for (size_t i = 0; i < sense.count; i++) {
        if (sense.jobs[i]->job_id == job_id)
            return sense.jobs[i];
    }
    return NULL;
}

/* Why no sensor of the job gives this figure: what the last one said. */
static const char *why_not(const job_t *job, hpcb_figure_t figure)
{
    const char *why = NULL;

    for (size_t i = 0; i < sense.row_count; i++) {
        const char *one = hpcb_sensed_why_not(job->sensed, i);

        if (sense.rows[i]->figures & 1U << figure && one)
            why = one;
    }
    return why ? why : "no sensor measures it";
}

static void unknown(counter_t *counter, const char *why)
{
    hpcb_measure_t measure;

    hpcb_measure_unknown(&measure, why);
    memcpy(counter->why, measure.why, sizeof(counter->why));
    hpcb_rate_break(&counter->rate);
}

static uint64_t network_of(const hpcb_sample_t *sample)
{
    const hpcb_reading_t *figure = sample->figure;

    return figure[HPCB_FIGURE_NETWORK_RX].value + figure[HPCB_FIGURE_NETWORK_TX].value +
           figure[HPCB_FIGURE_FABRIC_RX].value + figure[HPCB_FIGURE_FABRIC_TX].value;
}

static bool has_network(const hpcb_sample_t *sample)
{
    const hpcb_reading_t *figure = sample->figure;

    return figure[HPCB_FIGURE_NETWORK_RX].sensor &&
           !(figure[HPCB_FIGURE_FABRIC_RX].sensor &&
             figure[HPCB_FIGURE_FABRIC_RX].shared);
}

static bool has_memory(const hpcb_sample_t *sample)
{
    const hpcb_reading_t *reading = &sample->figure[HPCB_FIGURE_TRANSFER];

    return reading->sensor && !reading->shared;
}

static void add_network(job_t *job, const hpcb_sample_t *sample, uint64_t time_us)
{
    const hpcb_reading_t *figure = sample->figure;

    if (!figure[HPCB_FIGURE_NETWORK_RX].sensor) {
        unknown(&job->network, why_not(job, HPCB_FIGURE_NETWORK_RX));
        return;
    }
    if (figure[HPCB_FIGURE_FABRIC_RX].sensor && figure[HPCB_FIGURE_FABRIC_RX].shared) {
        unknown(&job->network, "the ports of the fabric were shared with other jobs");
        return;
    }
    hpcb_rate_add(&job->network.rate, time_us, network_of(sample));
}

static void add_memory(job_t *job, const hpcb_sample_t *sample, uint64_t time_us)
{
    const hpcb_reading_t *reading = &sample->figure[HPCB_FIGURE_TRANSFER];

    if (!reading->sensor)
        unknown(&job->memory, why_not(job, HPCB_FIGURE_TRANSFER));
    else if (reading->shared)
        unknown(&job->memory, "memory controllers were shared with other jobs");
    else
        hpcb_rate_add(&job->memory.rate, time_us, reading->value);
}

static void sample(job_t *job)
{
    uint64_t time_us = now_us();
    hpcb_sample_t found;

    hpcb_sensed_sample(job->sensed, &found);
    add_network(job, &found, time_us);
    add_memory(job, &found, time_us);
}

/* With what a daemon before this one has seen; of two percentiles the larger. */
static void conclude(const counter_t *counter, hpcb_measure_t *measure)
{
    double p95 = 0;

    if (counter->why[0]) {
        hpcb_measure_unknown(measure, counter->why);
        return;
    }
    (void)hpcb_rate_quantile(&counter->rate, 95, &p95);
    *measure = counter->before;
    measure->known = true;
    measure->bytes += hpcb_rate_total(&counter->rate);
    if (p95 > (double)measure->p95)
        measure->p95 = (uint64_t)p95;
}

/* With what a daemon before this one has found. */
static hpcb_guest_cost_t cost_of(const job_t *job)
{
    hpcb_guest_cost_t cost;

    return hpcbd_experiment_cost(job->job_id, job->begin_us, &job->cost, &cost)
               ? cost
               : job->cost;
}

static uint64_t elected_of(const job_t *job)
{
    uint64_t us;

    if (!hpcbd_gang_elected(job->job_id, &us))
        return job->elected_us;
    return us + (job->elected_us == HPCB_ELECTED_UNKNOWN ? 0 : job->elected_us);
}

void hpcbd_sense_elected(uint32_t job_id, uint64_t begin_us, uint64_t elected_us)
{
    job_t *job = find(job_id);

    if (!job || job->begin_us != begin_us)
        return;
    if (job->elected_us == HPCB_ELECTED_UNKNOWN)
        job->elected_us = 0;
    job->elected_us += elected_us;
}

static void save(const job_t *job)
{
    hpcb_measured_t measured = {.guest_cost = cost_of(job),
                                .elected_us = elected_of(job),
                                .restraint = job->restraint};
    hpcb_error_t err;

    hpcbd_tally_add(job->job_id, job->klass, &measured.restraint);
    conclude(&job->network, &measured.network);
    conclude(&job->memory, &measured.memory);
    if (hpcb_measured_save(sense.daemon->conf.state_dir, job->job_id, &measured, &err) <
        0)
        hpcb_log(HPCB_LOG_DEBUG, "job %u: %s", job->job_id, err.text);
}

static void begin_counter(counter_t *counter, const hpcb_measure_t *before)
{
    if (before->known)
        counter->before = *before;
    hpcb_rate_init(&counter->rate, HPCB_RATE_WINDOW, HPCB_RATE_QUANTUM_US, 64);
}

static void open_job(const hpcbd_job_t *known)
{
    uint32_t job_id = known->state.job_id;
    hpcb_measured_t before;
    job_t *job;

    if (sense.count == HPCBD_JOBS_MAX)
        return;
    job = calloc(1, sizeof(*job));
    if (!job ||
        hpcb_sensed_open(sense.sensing, job_id, known->dir[0] ? known->dir : NULL,
                         &job->sensed, NULL) < 0) {
        free(job); /* no group yet: the next tick tries again */
        return;
    }
    job->job_id = job_id;
    hpcb_measured_load(sense.daemon->conf.state_dir, job_id, &before);
    begin_counter(&job->network, &before.network);
    begin_counter(&job->memory, &before.memory);
    job->cost = before.guest_cost;
    job->elected_us = before.elected_us;
    job->begin_us = known->state.begin_us;
    job->klass = known->state.klass;
    job->restraint = before.restraint;
    sense.jobs[sense.count++] = job;
    sample(job);
}

static void close_job(size_t i)
{
    hpcbd_tally_forget(sense.jobs[i]->job_id);
    hpcb_sensed_close(sense.jobs[i]->sensed);
    free(sense.jobs[i]);
    sense.jobs[i] = sense.jobs[--sense.count];
}

/* Open what is new in the registry, close what has gone from it. */
static void follow(const hpcbd_registry_t *registry)
{
    for (size_t i = 0; i < registry->count; i++) {
        /* Traffic of jobs without a record is not recorded. */
        if (!registry->jobs[i]->marked && !find(registry->jobs[i]->state.job_id))
            open_job(registry->jobs[i]);
    }
    for (size_t i = sense.count; i-- > 0;) {
        if (!hpcbd_registry_find(registry, sense.jobs[i]->job_id))
            close_job(i);
    }
}

/* The registry may be late with a notified job. */
static void set_pace(void)
{
    bool rests = sense.count == 0 && hpcbd_window_registry()->count == 0;

    sense.rests = rests ? sense.rests + 1 : 0;
    hpcb_timer_every(sense.tick, sense.rests < REST_TICKS ? QUANTUM_NS : REST_NS);
}

static void on_tick(void *arg, uint64_t what)
{
    bool write = ++sense.ticks % SAVE_TICKS == 0;

    (void)arg;
    (void)what;
    follow(hpcbd_window_registry());
    hpcb_sensing_round(sense.sensing);
    for (size_t i = 0; i < sense.count; i++) {
        sample(sense.jobs[i]);
        if (write)
            save(sense.jobs[i]);
    }
    set_pace();
}

static void on_soon(void *arg, uint64_t what)
{
    (void)arg;
    (void)what;
    follow(hpcbd_window_registry());
    sense.tries = find(sense.awaited) ? 0 : sense.tries - 1;
    if (sense.tries > 0)
        hpcb_timer_in(sense.soon, SOON_NS, 0);
    else
        set_pace();
}

void hpcbd_sense_job(uint32_t job_id)
{
    job_t *job = find(job_id);

    if (job) {
        hpcb_sensed_adopt(job->sensed);
    } else if (sense.sensing) {
        sense.awaited = job_id;
        if (sense.tries == 0)
            hpcb_timer_in(sense.soon, SOON_NS, 0);
        sense.tries = SOON_TRIES;
    }
}

bool hpcbd_sense_read(uint32_t job_id, hpcbd_moved_t *moved)
{
    job_t *job = find(job_id);
    hpcb_sample_t found;

    if (!job)
        return false;
    hpcb_sensed_sample(job->sensed, &found);
    moved->net_known = has_network(&found);
    moved->net = moved->net_known ? network_of(&found) : 0;
    moved->mem_known = has_memory(&found);
    moved->mem = moved->mem_known ? found.figure[HPCB_FIGURE_TRANSFER].value : 0;
    return true;
}

void hpcbd_sense_measure(uint32_t job_id)
{
    job_t *job = find(job_id);

    if (!job)
        return;
    hpcb_sensing_round(sense.sensing);
    sample(job);
    save(job);
}

void hpcbd_sense_job_end(uint32_t job_id)
{
    hpcbd_tally_forget(job_id); /* also of one that could not be opened */
    for (size_t i = 0; i < sense.count; i++) {
        if (sense.jobs[i]->job_id == job_id) {
            close_job(i);
            return;
        }
    }
}

static void choose_rows(void)
{
    size_t count;
    const hpcb_sensor_t *const *rows = hpcb_sensors(&count);

    sense.row_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i]->figures & WANTED)
            sense.rows[sense.row_count++] = rows[i];
    }
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    sense.daemon = daemon;
    choose_rows();
    if (hpcb_node_open("/", &sense.node, err) < 0 ||
        hpcb_sensing_open(sense.node, sense.rows, sense.row_count, &sense.sensing,
                          err) < 0)
        return -1;
    hpcb_sensing_sweep(sense.sensing);
    sense.tick = hpcb_loop_timer(daemon->loop, CLOCK_MONOTONIC, on_tick, NULL, err);
    sense.soon = hpcb_loop_timer(daemon->loop, CLOCK_MONOTONIC, on_soon, NULL, err);
    if (!sense.tick || !sense.soon)
        return -1;
    hpcb_timer_in(sense.tick, QUANTUM_NS, QUANTUM_NS);
    return 0;
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    hpcb_source_remove(sense.tick);
    hpcb_source_remove(sense.soon);
    sense.tick = sense.soon = NULL;
    sense.tries = 0;
    while (sense.count > 0) {
        save(sense.jobs[0]);
        close_job(0);
    }
    hpcb_sensing_close(sense.sensing);
    sense.sensing = NULL;
    hpcb_node_close(sense.node);
    sense.node = NULL;
}

const hpcbd_part_t hpcbd_sense = {.name = "sense", .start = start, .stop = stop};
