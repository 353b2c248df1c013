/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "cgroup/freeze.h"
#include "cgroup/steps.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/harm/share.h"
#include "sensor/idle.h"
#include "sensor/sensor.h"

#define WANTED (1U << HPCB_FIGURE_CPU | 1U << HPCB_FIGURE_RUN_DELAY)

/* A shorter part of a turn says nothing: a guest runs for a tick at a time. */
#define TURN_MIN_US 100000

typedef struct {
    uint64_t time_us; /* 0: there is none */
    uint64_t cpu_us, delay_us;
    bool turns;          /* it takes turns */
    uint64_t elected_us; /* of these */
} reading_t;

typedef struct {
    uint32_t job_id;
    uint64_t begin_us; /* of the job: a requeued one is another */
    hpcb_sensed_t *sensed;
    hpcb_cpus_t cpus;
    reading_t last;
    bool seen; /* in this round */
} guest_t;

struct hpcbd_shares {
    const hpcb_node_t *node;
    hpcb_sensing_t *sensing;
    hpcb_idle_t idle[2]; /* of this round and the one before */
    unsigned now;        /* which of the two is of this round */
    guest_t *guests[HPCBD_JOBS_MAX];
    size_t count;
};

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int open_sensing(hpcbd_shares_t *shares, hpcb_error_t *err)
{
    static const hpcb_sensor_t *rows[HPCB_SENSORS_MAX];
    size_t count, wanted = 0;
    const hpcb_sensor_t *const *all = hpcb_sensors(&count);

    for (size_t i = 0; i < count; i++)
        if (all[i]->figures & WANTED)
            rows[wanted++] = all[i];
    return hpcb_sensing_open(shares->node, rows, wanted, &shares->sensing, err);
}

hpcbd_shares_t *hpcbd_shares_new(const hpcb_node_t *node, hpcb_error_t *err)
{
    hpcbd_shares_t *shares;
    char text[512];

    if (hpcb_node_read(node, "proc/pressure/cpu", text, sizeof(text), NULL) < 0) {
        hpcb_error(err, "this kernel accounts no pressure (boot it with psi=1)");
        return NULL;
    }
    shares = calloc(1, sizeof(*shares));
    if (!shares) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    shares->node = node;
    if (open_sensing(shares, err) == 0)
        return shares;
    free(shares);
    return NULL;
}

static void forget(hpcbd_shares_t *shares, size_t i)
{
    hpcb_sensed_close(shares->guests[i]->sensed);
    free(shares->guests[i]);
    shares->guests[i] = shares->guests[--shares->count];
}

static void forget_job(hpcbd_shares_t *shares, const guest_t *guest)
{
    for (size_t i = shares->count; i-- > 0;)
        if (shares->guests[i] == guest)
            forget(shares, i);
}

void hpcbd_shares_free(hpcbd_shares_t *shares)
{
    if (!shares)
        return;
    while (shares->count)
        forget(shares, shares->count - 1);
    hpcb_sensing_close(shares->sensing);
    free(shares);
}

void hpcbd_shares_round(hpcbd_shares_t *shares, bool idle)
{
    hpcb_sensing_round(shares->sensing);
    for (size_t i = shares->count; i-- > 0;) {
        if (!shares->guests[i]->seen)
            forget(shares, i);
        else
            shares->guests[i]->seen = false;
    }
    shares->now = !shares->now;
    if (!idle || hpcb_idle_read(shares->node, &shares->idle[shares->now], NULL) < 0)
        shares->idle[shares->now].time_us = 0;
}

static guest_t *find(const hpcbd_shares_t *shares, const hpcbd_job_t *job)
{
    for (size_t i = 0; i < shares->count; i++)
        if (shares->guests[i]->job_id == job->state.job_id &&
            shares->guests[i]->begin_us == job->state.begin_us)
            return shares->guests[i];
    return NULL;
}

static guest_t *find_or_open(hpcbd_shares_t *shares, const hpcbd_job_t *job)
{
    guest_t *guest = find(shares, job);

    if (guest || shares->count == HPCBD_JOBS_MAX)
        return guest;
    guest = calloc(1, sizeof(*guest));
    if (!guest)
        return NULL;
    guest->job_id = job->state.job_id;
    guest->begin_us = job->state.begin_us;
    if (hpcb_sensed_open(shares->sensing, guest->job_id, job->dir[0] ? job->dir : NULL,
                         &guest->sensed, NULL) < 0) {
        free(guest); /* no task yet */
        return NULL;
    }
    shares->guests[shares->count++] = guest;
    return guest;
}

static unsigned count_cpus(const hpcbd_shares_t *shares, const hpcbd_job_t *job,
                           guest_t *guest)
{
    hpcb_steps_bound(shares->node, job->dir, &guest->cpus);
    return hpcb_cpus_count(&guest->cpus);
}

static double idle_part(const hpcbd_shares_t *shares, const guest_t *guest)
{
    const hpcb_idle_t *after = &shares->idle[shares->now];
    const hpcb_idle_t *before = &shares->idle[!shares->now];

    return before->time_us && after->time_us
               ? hpcb_idle_part(before, after, &guest->cpus)
               : 0;
}

/* False if one of the sensors has failed. */
static bool read_guest(const guest_t *guest, reading_t *reading)
{
    hpcb_sample_t sample;

    hpcb_sensed_sample(guest->sensed, &sample);
    *reading = (reading_t){.time_us = now_us(),
                           .cpu_us = sample.figure[HPCB_FIGURE_CPU].value,
                           .delay_us = sample.figure[HPCB_FIGURE_RUN_DELAY].value};
    reading->turns = hpcbd_gang_elected(guest->job_id, &reading->elected_us);
    return sample.figure[HPCB_FIGURE_CPU].sensor &&
           sample.figure[HPCB_FIGURE_RUN_DELAY].sensor;
}

/* The time that the guest had between two readings, in us. */
static double own_time(const reading_t *from, const reading_t *to)
{
    return to->turns ? (double)to->elected_us - (double)from->elected_us
                     : (double)to->time_us - (double)from->time_us;
}

/* Since the last reading.  False if there is none to compare with, as for a guest that
 * has left turns and joined again, whose time begins anew; without a turn the last one
 * remains. */
static bool compare(guest_t *guest, const reading_t *now, hpcbd_share_t *share)
{
    reading_t before = guest->last;
    double own_us = own_time(&before, now);

    if (before.time_us && now->turns && before.turns && own_us >= 0 &&
        own_us < TURN_MIN_US) {
        share->suspended = true;
        return true;
    }
    guest->last = *now;
    if (!before.time_us || before.turns != now->turns || own_us <= 0 || !share->cpus)
        return false;
    share->used = (double)(now->cpu_us - before.cpu_us) / own_us / share->cpus;
    share->waited = 2 * (double)(now->delay_us - before.delay_us) >= own_us;
    return true;
}

int hpcbd_shares_look(hpcbd_shares_t *shares, const hpcbd_job_t *job,
                      hpcbd_share_t *share)
{
    guest_t *guest = job->dir[0] ? find_or_open(shares, job) : NULL;
    hpcbd_share_t found = {.used = 0};
    reading_t now;

    if (!guest)
        return -1;
    guest->seen = true;
    if (!read_guest(guest, &now)) {
        forget_job(shares, guest);
        return -1;
    }
    found.cpus = count_cpus(shares, job, guest);
    found.suspended = hpcb_freeze_by_slurm(shares->node, job->dir);
    if (!compare(guest, &now, &found))
        return -1;
    found.idle = idle_part(shares, guest);
    *share = found;
    return 0;
}
