/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/state.h"
#include "hpcbd/node/quiet.h"

/* Of the CPUs: more than the daemons of an idle node use. */
#define BUSY       0.05
#define BUSY_LEAST 0.25

static int found(const hpcb_job_state_t *job, void *arg)
{
    (void)job;
    (void)arg;
    return 1;
}

bool hpcbd_has_jobs(const char *state_dir)
{
    return hpcb_state_each(state_dir, found, NULL, NULL) != 0;
}

static int is_guest(const hpcb_job_state_t *job, void *arg)
{
    bool *found = arg;

    *found = job->klass == HPCB_CLASS_GUEST;
    return *found;
}

bool hpcbd_has_guests(const char *state_dir)
{
    bool found = false;

    return hpcb_state_each(state_dir, is_guest, &found, NULL) < 0 || found;
}

/* Those that were online all the time. */
static void add_online(const hpcb_idle_t *before, const hpcb_idle_t *after,
                       hpcb_cpus_t *cpus)
{
    for (unsigned cpu = 0; cpu < before->count && cpu < after->count; cpu++)
        if (before->idle_us[cpu] > 0 && after->idle_us[cpu] > 0)
            hpcb_cpus_add(cpus, cpu);
}

bool hpcbd_is_busy(const hpcb_idle_t *before, const hpcb_idle_t *after)
{
    hpcb_cpus_t cpus = {0};
    double used, limit;

    add_online(before, after, &cpus);
    limit = BUSY * hpcb_cpus_count(&cpus);
    used = (1 - hpcb_idle_part(before, after, &cpus)) * hpcb_cpus_count(&cpus);
    return hpcb_cpus_count(&cpus) == 0 ||
           used > (limit > BUSY_LEAST ? limit : BUSY_LEAST);
}
