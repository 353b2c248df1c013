/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "cgroup/cores.h"
#include "hpcbd/harm/near.h"
#include "hpcbd/node/cpus.h"

#define SECOND INT64_C(1000000000)

/* A job may grow, and has other cores with each step where it has no cpuset.  Of one
 * whose steps are about to begin something is known soon, or never. */
#define LOOK_NS    (10 * SECOND)
#define UNKNOWN_NS SECOND

typedef struct {
    uint32_t job_id;
    uint64_t begin_us; /* of the job: a requeued one is another */
    int64_t looked_ns;
    hpcbd_cpus_kind_t kind;
    hpcb_cpus_t cpus;
} place_t;

struct hpcbd_near {
    const hpcb_node_t *node;
    const char *state_dir;
    hpcb_cores_t cores; /* smt is false where sysfs does not tell */
    size_t count;
    place_t *places[HPCBD_JOBS_MAX];
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

hpcbd_near_t *hpcbd_near_new(const hpcb_node_t *node, const char *state_dir,
                             hpcb_error_t *err)
{
    hpcbd_near_t *near = calloc(1, sizeof(*near));

    if (!near) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    near->node = node;
    near->state_dir = state_dir;
    if (hpcb_node_cores(node, &near->cores, NULL) < 0)
        near->cores.smt = false;
    return near;
}

static void forget(hpcbd_near_t *near, size_t i)
{
    free(near->places[i]);
    near->places[i] = near->places[--near->count];
}

void hpcbd_near_free(hpcbd_near_t *near)
{
    while (near && near->count)
        forget(near, near->count - 1);
    free(near);
}

static bool is_of(const place_t *place, const hpcbd_job_t *job)
{
    return place->job_id == job->state.job_id && place->begin_us == job->state.begin_us;
}

/* NULL: it is not known, and there is no room for it. */
static place_t *find_or_add(hpcbd_near_t *near, const hpcbd_job_t *job)
{
    place_t *place;

    for (size_t i = 0; i < near->count; i++)
        if (is_of(near->places[i], job))
            return near->places[i];
    place = near->count < HPCBD_JOBS_MAX ? calloc(1, sizeof(*place)) : NULL;
    if (!place)
        return NULL;
    place->job_id = job->state.job_id;
    place->begin_us = job->state.begin_us;
    near->places[near->count++] = place;
    return place;
}

/* With the end of its steps its cpuset goes: what was read there stays. */
static void look(const hpcbd_near_t *near, place_t *place, const hpcbd_job_t *job)
{
    int64_t time_ns = now_ns();
    int64_t wait_ns = place->kind == HPCBD_CPUS_UNKNOWN ? UNKNOWN_NS : LOOK_NS;
    hpcbd_cpus_kind_t kind;
    hpcb_cpus_t cpus;

    if (!job->dir[0] || (place->looked_ns && time_ns - place->looked_ns < wait_ns))
        return;
    kind = hpcbd_cpus_of(near->node, near->state_dir, job, &cpus);
    place->looked_ns = time_ns;
    if (kind == HPCBD_CPUS_UNKNOWN || kind < place->kind)
        return;
    place->kind = kind;
    place->cpus = cpus;
}

static const place_t *place_of(hpcbd_near_t *near, const hpcbd_job_t *job)
{
    place_t *place = find_or_add(near, job);

    if (place)
        look(near, place, job);
    return place && place->kind != HPCBD_CPUS_UNKNOWN ? place : NULL;
}

/* Some CPU of one is another hardware thread of a core of the other. */
static bool are_siblings(const hpcbd_near_t *near, const place_t *a, const place_t *b)
{
    hpcb_cpus_t exposed;

    if (a->kind != HPCBD_CPUS_LINUX || !near->cores.smt)
        return false;
    exposed = hpcb_siblings_exposed(&near->cores, &a->cpus, &b->cpus);
    return hpcb_cpus_count(&exposed) > 0;
}

bool hpcbd_near_shares(hpcbd_near_t *near, const hpcbd_job_t *a, const hpcbd_job_t *b)
{
    const place_t *one = place_of(near, a), *two = place_of(near, b);

    if (!one || !two || one->kind != two->kind)
        return true;
    return hpcb_cpus_meet(&one->cpus, &two->cpus) || are_siblings(near, one, two);
}

void hpcbd_near_clean(hpcbd_near_t *near, const hpcbd_registry_t *registry)
{
    for (size_t i = near->count; i-- > 0;) {
        const hpcbd_job_t *job = hpcbd_registry_find(registry, near->places[i]->job_id);

        if (!job || !is_of(near->places[i], job))
            forget(near, i);
    }
}
