/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Reads the state of each job on the node, and the counters of guests, at begin and end
 * of jobs, and nothing in between.  The kernel's counters are only read if there are
 * guests next to a primary.
 *
 * A job is there from the moment its state is.  A guest notes its end before it removes
 * its state, and a primary finds guests before it reads the notes, so at least one of
 * them sees the other.  A guest that both see is the same run and counts once.
 */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "cgroup/node.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "hpcbctl/job/beside.h"
#include "sensor/meter.h"

/* A step that ends while its counters are read moves them to the state. */
#define READ_TRIES 3

typedef struct {
    const hpcb_conf_t *conf;
    hpcb_node_t *node; /* opened for the first guest */
    hpcb_beside_reading_t *readings;
    size_t count, room;
} guests_t;

/* Return the usage of running tasks that is not in the state yet; none if this node
 * does not meter. */
static uint64_t running_us(const guests_t *guests, uint32_t job_id,
                           hpcb_usage_scope_t *scope)
{
    hpcb_usage_t used = {0};
    char dir[PATH_MAX];

    *scope = HPCB_USAGE_STEP;
    if (!guests->node ||
        hpcb_meter_read(guests->node, job_id, 0, &used, scope, NULL) == 0)
        return used.cpu_us;
    *scope = HPCB_USAGE_JOB;
    if (hpcb_state_load_place(guests->conf->state_dir, job_id, dir, sizeof(dir),
                              NULL) == 0)
        (void)hpcb_meter_read_job(dir, &used, NULL);
    return used.cpu_us;
}

/* CPU time of the guest so far. */
static uint64_t used_us(const guests_t *guests, uint32_t job_id)
{
    hpcb_usage_t before = {0}, after = {0};
    hpcb_usage_scope_t scope;
    uint64_t running = 0;

    for (int i = 0; i < READ_TRIES; i++) {
        (void)hpcb_state_usage(guests->conf->state_dir, job_id, &before, NULL);
        running = running_us(guests, job_id, &scope);
        (void)hpcb_state_usage(guests->conf->state_dir, job_id, &after, NULL);
        if (before.cpu_us == after.cpu_us)
            break;
    }
    if (scope == HPCB_USAGE_JOB)
        return running > after.cpu_us ? running : after.cpu_us;
    return after.cpu_us + running;
}

static int read_guest(const hpcb_job_state_t *job, void *arg)
{
    guests_t *guests = arg;
    hpcb_beside_reading_t *more;

    if (job->klass != HPCB_CLASS_GUEST)
        return 0;
    if (guests->count == guests->room) {
        more = reallocarray(guests->readings, 2 * guests->room + 16, sizeof(*more));
        if (!more)
            return -1;
        guests->readings = more;
        guests->room = 2 * guests->room + 16;
    }
    if (!guests->node)
        (void)hpcb_node_open("/", &guests->node, NULL);
    guests->readings[guests->count++] = (hpcb_beside_reading_t){
        .guest = job->job_id,
        .begin_us = job->begin_us,
        .cpu_us = used_us(guests, job->job_id),
    };
    return 0;
}

static void complain(uint32_t job_id, const hpcb_error_t *err)
{
    hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", job_id, err->text);
}

/* All guests that are there; the caller closes them. */
static int find_guests(const hpcb_conf_t *conf, guests_t *guests, hpcb_error_t *err)
{
    *guests = (guests_t){.conf = conf};
    return hpcb_state_each(conf->state_dir, read_guest, guests, err) < 0 ? -1 : 0;
}

static void close_guests(guests_t *guests)
{
    hpcb_node_close(guests->node);
    free(guests->readings);
}

void hpcb_beside_begin(const hpcb_conf_t *conf, uint32_t primary)
{
    guests_t guests = {.conf = conf};
    hpcb_error_t err;

    if (hpcb_beside_open(conf->state_dir, primary, &err) ||
        find_guests(conf, &guests, &err))
        complain(primary, &err);
    for (size_t i = 0; i < guests.count; i++) {
        guests.readings[i].before = true;
        if (hpcb_beside_note(conf->state_dir, primary, &guests.readings[i], &err)) {
            complain(primary, &err);
            break;
        }
    }
    close_guests(&guests);
}

typedef struct {
    const hpcb_conf_t *conf;
    hpcb_beside_reading_t reading;
} leave_t;

static int tell_primary(const hpcb_job_state_t *job, void *arg)
{
    const leave_t *leave = arg;
    hpcb_error_t err;

    if (job->klass == HPCB_CLASS_PRIMARY &&
        hpcb_beside_note(leave->conf->state_dir, job->job_id, &leave->reading, &err))
        complain(job->job_id, &err);
    return 0;
}

void hpcb_beside_leave(const hpcb_conf_t *conf, const hpcb_job_state_t *guest,
                       uint64_t cpu_us)
{
    leave_t leave = {.conf = conf,
                     .reading = {.guest = guest->job_id,
                                 .begin_us = guest->begin_us,
                                 .cpu_us = cpu_us}};
    hpcb_error_t err;

    if (hpcb_state_each(conf->state_dir, tell_primary, &leave, &err) < 0)
        complain(guest->job_id, &err);
}

void hpcb_beside_end(const hpcb_conf_t *conf, const hpcb_job_state_t *primary,
                     hpcb_beside_t *beside)
{
    hpcb_error_t err;
    guests_t guests;

    if (find_guests(conf, &guests, &err) ||
        hpcb_beside_sum(conf->state_dir, primary->job_id, primary->begin_us,
                        guests.readings, guests.count, beside, &err))
        complain(primary->job_id, &err);
    close_guests(&guests);
}
