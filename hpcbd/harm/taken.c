/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup/knob.h"
#include "cgroup/steps.h"
#include "common/cleanup.h"
#include "hpcbd/harm/taken.h"
#include "sensor/meter.h"
#include "sensor/stat.h"

typedef struct {
    uint32_t job_id;
    char *dir; /* Slurm's directory of the job; NULL: not known */
    bool lost; /* it may have tasks, but their group is not known */
    bool near;
    int stat;         /* cpu.stat of its group; -1: it has none yet */
    uint64_t used_us; /* at the last reading */
} guest_t;

struct hpcbd_taken {
    const hpcb_node_t *node;
    guest_t guests[HPCBD_JOBS_MAX];
    size_t count;
};

hpcbd_taken_t *hpcbd_taken_new(const hpcb_node_t *node, hpcb_error_t *err)
{
    hpcbd_taken_t *taken = calloc(1, sizeof(*taken));

    if (!taken) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    taken->node = node;
    return taken;
}

static void forget_all(hpcbd_taken_t *taken)
{
    for (size_t i = 0; i < taken->count; i++) {
        hpcb_cleanup_close(&taken->guests[i].stat);
        free(taken->guests[i].dir);
    }
    taken->count = 0;
}

void hpcbd_taken_free(hpcbd_taken_t *taken)
{
    if (!taken)
        return;
    forget_all(taken);
    free(taken);
}

static void open_stat(const hpcbd_taken_t *taken, guest_t *guest)
{
    char group[PATH_MAX];

    if (hpcb_meter_group(taken->node, guest->job_id, guest->dir, group, sizeof(group),
                         NULL) == 0)
        guest->stat = hpcb_stat_open(group, "cpu.stat", NULL);
}

static void add(hpcbd_taken_t *taken, const hpcbd_job_t *job, bool near)
{
    guest_t *guest = &taken->guests[taken->count++];

    *guest = (guest_t){.job_id = job->state.job_id,
                       .dir = job->dir[0] ? strdup(job->dir) : NULL,
                       .lost = !job->dir[0] && job->marked,
                       .near = near,
                       .stat = -1};
    open_stat(taken, guest);
}

/* If one job has a cpuset, all have. */
static bool is_kept_on_its_cpus(const hpcbd_taken_t *taken, const hpcbd_job_t *primary)
{
    hpcb_cpus_t cpus;

    return hpcb_steps_cpus(taken->node, primary->dir, &cpus) == 0;
}

void hpcbd_taken_begin(hpcbd_taken_t *taken, const hpcbd_registry_t *registry,
                       hpcbd_near_t *near, const hpcbd_job_t *primary)
{
    bool kept = is_kept_on_its_cpus(taken, primary);

    forget_all(taken);
    for (size_t i = 0; i < registry->count; i++) {
        const hpcbd_job_t *job = registry->jobs[i];

        if (job->state.klass == HPCB_CLASS_GUEST)
            add(taken, job, !kept || hpcbd_near_shares(near, primary, job));
    }
}

static int any(pid_t pid, void *arg)
{
    (void)pid;
    (void)arg;
    return 1;
}

static bool has_tasks(const hpcbd_taken_t *taken, const guest_t *guest)
{
    return guest->lost ||
           (guest->dir && hpcb_steps_busy(taken->node, guest->dir, any, NULL) == 1);
}

/* Without tasks it uses nothing, be it that its group has gone.  One whose first step
 * has begun since counts with all that its group has used. */
static bool read_guest(const hpcbd_taken_t *taken, guest_t *guest, uint64_t *used_us)
{
    *used_us = 0;
    if (guest->stat < 0)
        open_stat(taken, guest);
    if (guest->stat < 0)
        return !has_tasks(taken, guest);
    if (hpcb_stat_number(guest->stat, "usage_usec ", &guest->used_us, NULL) < 0 &&
        !hpcb_knob_gone(errno))
        return false;
    *used_us = guest->used_us;
    return true;
}

bool hpcbd_taken_read(hpcbd_taken_t *taken, uint64_t *all_us, uint64_t *near_us)
{
    bool known = true;

    *all_us = *near_us = 0;
    for (size_t i = 0; i < taken->count; i++) {
        guest_t *guest = &taken->guests[i];
        uint64_t used_us;

        known &= read_guest(taken, guest, &used_us);
        *all_us += used_us;
        *near_us += guest->near ? used_us : 0;
    }
    return known;
}
