/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/log.h"
#include "hpcbd/registry.h"

static size_t index_of(const hpcbd_registry_t *registry, uint32_t job_id)
{
    size_t i = 0;

    while (i < registry->count && registry->jobs[i]->state.job_id != job_id)
        i++;
    return i;
}

hpcbd_job_t *hpcbd_registry_find(const hpcbd_registry_t *registry, uint32_t job_id)
{
    size_t i = index_of(registry, job_id);

    return i < registry->count ? registry->jobs[i] : NULL;
}

static void remove_at(hpcbd_registry_t *registry, size_t i)
{
    hpcbd_job_t *job = registry->jobs[i];

    registry->jobs[i] = registry->jobs[--registry->count];
    if (registry->gone)
        registry->gone(job);
    free(job);
}

void hpcbd_registry_remove(hpcbd_registry_t *registry, uint32_t job_id)
{
    size_t i = index_of(registry, job_id);

    if (i < registry->count)
        remove_at(registry, i);
}

void hpcbd_registry_clear(hpcbd_registry_t *registry)
{
    while (registry->count)
        remove_at(registry, registry->count - 1);
}

static hpcbd_job_t *add(hpcbd_registry_t *registry)
{
    static bool complained;
    hpcbd_job_t *job = NULL;

    if (registry->count < HPCBD_JOBS_MAX)
        job = calloc(1, sizeof(*job));
    if (job)
        registry->jobs[registry->count++] = job;
    else
        hpcb_log_once(&complained, HPCB_LOG_ERROR,
                      "more than %d jobs: the others have no windows", HPCBD_JOBS_MAX);
    return job;
}

/* A job keeps its id when it is requeued: then everything may be another. */
static bool is_same(const hpcb_job_state_t *a, const hpcb_job_state_t *b)
{
    return a->begin_us == b->begin_us && a->uid == b->uid;
}

static hpcbd_job_t *take(hpcbd_registry_t *registry, const char *state_dir,
                         const hpcb_job_state_t *state)
{
    hpcbd_job_t *job = hpcbd_registry_find(registry, state->job_id);

    if (job && !is_same(&job->state, state)) {
        hpcbd_registry_remove(registry, state->job_id);
        job = NULL;
    }
    if (!job)
        job = add(registry);
    if (!job)
        return NULL;
    job->state = *state;
    job->seen = true;
    job->window = (hpcb_window_t){
        .period_ns = (int64_t)state->window.period_us * 1000,
        .favoured_ns = (int64_t)state->window.favoured_us * 1000,
    };
    if (!job->dir[0] && hpcb_state_load_place(state_dir, state->job_id, job->dir,
                                              sizeof(job->dir), NULL) == 0)
        job->dirty = true;
    return job;
}

hpcbd_job_t *hpcbd_registry_load(hpcbd_registry_t *registry, const char *state_dir,
                                 uint32_t job_id)
{
    hpcb_job_state_t state;
    hpcb_error_t err;

    if (hpcb_state_load(state_dir, job_id, &state, &err) == 0)
        return take(registry, state_dir, &state);
    if (errno == ENOENT)
        hpcbd_registry_remove(registry, job_id);
    else
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    return NULL;
}

typedef struct {
    hpcbd_registry_t *registry;
    const char *state_dir;
} refresh_t;

static int visit(const hpcb_job_state_t *state, void *arg)
{
    const refresh_t *refresh = arg;

    take(refresh->registry, refresh->state_dir, state);
    return 0;
}

void hpcbd_registry_refresh(hpcbd_registry_t *registry, const char *state_dir)
{
    refresh_t refresh = {registry, state_dir};
    hpcb_error_t err;

    for (size_t i = 0; i < registry->count; i++)
        registry->jobs[i]->seen = false;
    if (hpcb_state_each(state_dir, visit, &refresh, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return;
    }
    for (size_t i = registry->count; i-- > 0;)
        if (!registry->jobs[i]->seen)
            remove_at(registry, i);
}
