/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cgroup/cores.h"
#include "hpcbd/harm/near.h"
#include "hpcbd/node/cpus.h"

#define SECOND INT64_C(1000000000)

/* A job may grow, and has other cores with each step if it has no cpuset.  Data of a
 * job whose steps are about to begin are available soon, or never. */
#define LOOK_NS    (10 * SECOND)
#define UNKNOWN_NS SECOND

typedef struct {
    uint32_t job_id;
    uint64_t begin_us; /* of the job: a requeued one is another */
    int64_t looked_ns;
    hpcbd_cpus_kind_t kind;
    /* All words of cpus and of cores in one: most pairs have nothing in common there.
     */
    unsigned long some_cpus, some_cores;
    hpcb_cpus_t cpus;  /* allocated to it */
    hpcb_cpus_t cores; /* all CPUs of their cores */
} place_t;

/* Contiguous, because an iteration of the loop checks each pair of jobs, and the places
 * themselves are large. */
typedef struct {
    uint32_t job_id;
    place_t *place;
} entry_t;

struct hpcbd_near {
    const hpcb_node_t *node;
    const char *state_dir;
    hpcb_cores_t cores; /* smt is false if sysfs does not have it */
    size_t count;
    entry_t entries[HPCBD_JOBS_MAX]; /* by number, as the registry */
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
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
    free(near->entries[i].place);
    near->count--;
    memmove(&near->entries[i], &near->entries[i + 1],
            (near->count - i) * sizeof(entry_t));
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

/* Return its index, or where it would be inserted. */
static size_t index_of(const hpcbd_near_t *near, uint32_t job_id)
{
    size_t low = 0, high = near->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (near->entries[middle].job_id < job_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Return NULL if it does not fit. */
static place_t *add(hpcbd_near_t *near, size_t i, const hpcbd_job_t *job)
{
    place_t *place = near->count < HPCBD_JOBS_MAX ? calloc(1, sizeof(*place)) : NULL;

    if (!place)
        return NULL;
    place->job_id = job->state.job_id;
    place->begin_us = job->state.begin_us;
    memmove(&near->entries[i + 1], &near->entries[i],
            (near->count - i) * sizeof(entry_t));
    near->entries[i] = (entry_t){place->job_id, place};
    near->count++;
    return place;
}

/* Return NULL if it is not known and does not fit. */
static place_t *find_or_add(hpcbd_near_t *near, const hpcbd_job_t *job)
{
    size_t i = index_of(near, job->state.job_id);

    if (i == near->count || near->entries[i].job_id != job->state.job_id)
        return add(near, i, job);
    if (!is_of(near->entries[i].place, job))
        *near->entries[i].place =
            (place_t){.job_id = job->state.job_id, .begin_us = job->state.begin_us};
    return near->entries[i].place;
}

/* The CPUs of one are threads of the cores of the other if they are among these. */
static hpcb_cpus_t all_of_cores(const hpcbd_near_t *near, const place_t *place)
{
    hpcb_cpus_t all = place->cpus, exposed;

    if (place->kind == HPCBD_CPUS_LINUX && near->cores.smt) {
        exposed = hpcb_siblings_exposed(&near->cores, &near->cores.online, &all);
        hpcb_cpus_join(&all, &exposed);
    }
    return all;
}

static unsigned long fold(const hpcb_cpus_t *cpus)
{
    unsigned long all = 0;

    for (size_t i = 0; i < sizeof(cpus->word) / sizeof(cpus->word[0]); i++)
        all |= cpus->word[i];
    return all;
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
    place->cores = all_of_cores(near, place);
    place->some_cpus = fold(&place->cpus);
    place->some_cores = fold(&place->cores);
}

static const place_t *place_of(hpcbd_near_t *near, const hpcbd_job_t *job)
{
    place_t *place = find_or_add(near, job);

    if (place)
        look(near, place, job);
    return place && place->kind != HPCBD_CPUS_UNKNOWN ? place : NULL;
}

bool hpcbd_near_shares(hpcbd_near_t *near, const hpcbd_job_t *a, const hpcbd_job_t *b)
{
    const place_t *one = place_of(near, a), *two = place_of(near, b);

    if (!one || !two || one->kind != two->kind)
        return true;
    return one->some_cpus & two->some_cores && hpcb_cpus_meet(&one->cpus, &two->cores);
}

void hpcbd_near_clean(hpcbd_near_t *near, const hpcbd_registry_t *registry)
{
    for (size_t i = near->count; i-- > 0;) {
        const hpcbd_job_t *job = hpcbd_registry_find(registry, near->entries[i].job_id);

        if (!job || !is_of(near->entries[i].place, job))
            forget(near, i);
    }
}
