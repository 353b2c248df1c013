/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stddef.h>
#include <time.h>

#include "hpcbd/harm/tally.h"
#include "hpcbd/node/registry.h"

typedef struct {
    uint32_t job_id;
    struct {
        uint64_t sum_us, since_us; /* since 0: it is over */
    } times[HPCBD_TALLY_TIMES];
    uint64_t steps, requeued;
} tally_t;

static struct {
    tally_t jobs[HPCBD_JOBS_MAX];
    size_t count;
} tallies;

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static tally_t *find(uint32_t job_id)
{
    for (size_t i = 0; i < tallies.count; i++)
        if (tallies.jobs[i].job_id == job_id)
            return &tallies.jobs[i];
    return NULL;
}

/* NULL: there are more jobs than this node manages. */
static tally_t *find_or_add(uint32_t job_id)
{
    tally_t *tally = find(job_id);

    if (tally || tallies.count == HPCBD_JOBS_MAX)
        return tally;
    tally = &tallies.jobs[tallies.count++];
    *tally = (tally_t){.job_id = job_id};
    return tally;
}

void hpcbd_tally_forget(uint32_t job_id)
{
    tally_t *tally = find(job_id);

    if (tally)
        *tally = tallies.jobs[--tallies.count];
}

/* Up to now. */
static uint64_t sum_of(const tally_t *tally, hpcbd_tally_time_t which)
{
    uint64_t since_us = tally->times[which].since_us;

    return tally->times[which].sum_us + (since_us ? now_us() - since_us : 0);
}

void hpcbd_tally_time(uint32_t job_id, hpcbd_tally_time_t which, bool on)
{
    tally_t *tally = on ? find_or_add(job_id) : find(job_id);

    if (!tally || (tally->times[which].since_us != 0) == on)
        return;
    tally->times[which].sum_us = sum_of(tally, which);
    tally->times[which].since_us = on ? now_us() : 0;
}

void hpcbd_tally_step(uint32_t primary)
{
    tally_t *tally = find_or_add(primary);

    if (tally)
        tally->steps++;
}

void hpcbd_tally_requeued(uint32_t primary, unsigned guests)
{
    tally_t *tally = find_or_add(primary);

    if (tally)
        tally->requeued += guests;
}

static void add(uint64_t *known, uint64_t more)
{
    *known = (*known == HPCB_RESTRAINT_UNKNOWN ? 0 : *known) + more;
}

void hpcbd_tally_add(uint32_t job_id, hpcb_class_t klass, hpcb_restraint_t *restraint)
{
    static const tally_t nothing;
    const tally_t *tally = find(job_id);

    if (!tally)
        tally = &nothing;
    if (klass == HPCB_CLASS_PRIMARY) {
        add(&restraint->steps, tally->steps);
        add(&restraint->requeued, tally->requeued);
        add(&restraint->sliced_us, sum_of(tally, HPCBD_TALLY_SLICED));
    } else if (klass == HPCB_CLASS_GUEST) {
        add(&restraint->throttled_us, sum_of(tally, HPCBD_TALLY_THROTTLED));
        add(&restraint->stopped_us, sum_of(tally, HPCBD_TALLY_STOPPED));
        add(&restraint->starved_us, sum_of(tally, HPCBD_TALLY_STARVED));
    }
}
