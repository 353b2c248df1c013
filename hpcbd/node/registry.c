/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/steps.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/text.h"
#include "hpcbd/node/registry.h"

/* Return the index of job_id, or where it would be inserted. */
static size_t index_of(const hpcbd_registry_t *registry, uint32_t job_id)
{
    size_t low = 0, high = registry->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (registry->jobs[middle]->state.job_id < job_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

hpcbd_job_t *hpcbd_registry_find(const hpcbd_registry_t *registry, uint32_t job_id)
{
    size_t i = index_of(registry, job_id);

    return i < registry->count && registry->jobs[i]->state.job_id == job_id
               ? registry->jobs[i]
               : NULL;
}

static void remove_at(hpcbd_registry_t *registry, size_t i)
{
    hpcbd_job_t *job = registry->jobs[i];

    registry->count--;
    memmove(&registry->jobs[i], &registry->jobs[i + 1],
            (registry->count - i) * sizeof(hpcbd_job_t *));
    if (registry->gone)
        registry->gone(job);
    free(job);
}

void hpcbd_registry_remove(hpcbd_registry_t *registry, uint32_t job_id)
{
    if (hpcbd_registry_find(registry, job_id))
        remove_at(registry, index_of(registry, job_id));
}

void hpcbd_registry_clear(hpcbd_registry_t *registry)
{
    while (registry->count)
        remove_at(registry, registry->count - 1);
}

static hpcbd_job_t *add_job(hpcbd_registry_t *registry, uint32_t job_id)
{
    static bool complained;
    size_t i = index_of(registry, job_id);
    hpcbd_job_t *job = NULL;

    if (registry->count < HPCBD_JOBS_MAX)
        job = calloc(1, sizeof(*job));
    if (!job) {
        hpcb_log_once(&complained, HPCB_LOG_ERROR,
                      "more than %d jobs: the others have no windows", HPCBD_JOBS_MAX);
        return NULL;
    }
    memmove(&registry->jobs[i + 1], &registry->jobs[i],
            (registry->count - i) * sizeof(hpcbd_job_t *));
    registry->jobs[i] = job;
    registry->count++;
    return job;
}

/* A job keeps its id when it is requeued: then everything may be another. */
static bool is_same(const hpcb_job_state_t *a, const hpcb_job_state_t *b)
{
    return a->begin_us == b->begin_us && a->uid == b->uid;
}

/* Known when the job's first step has begun. */
static void look_for_place(hpcbd_job_t *job, const char *state_dir)
{
    if (!job->dir[0] && hpcb_state_load_place(state_dir, job->state.job_id, job->dir,
                                              sizeof(job->dir), NULL) == 0)
        job->dirty = true;
}

static hpcbd_job_t *take_state(hpcbd_registry_t *registry, const char *state_dir,
                               const hpcb_job_state_t *state)
{
    hpcbd_job_t *job = hpcbd_registry_find(registry, state->job_id);

    if (job && !is_same(&job->state, state)) {
        hpcbd_registry_remove(registry, state->job_id);
        job = NULL;
    }
    if (!job)
        job = add_job(registry, state->job_id);
    if (!job)
        return NULL;
    job->state = *state;
    job->seen = true;
    job->window = (hpcb_window_t){
        .period_ns = (int64_t)state->window.period_us * 1000,
        .favoured_ns = (int64_t)state->window.favoured_us * 1000,
    };
    look_for_place(job, state_dir);
    return job;
}

static hpcbd_stamp_t stamp_of(const struct stat *status)
{
    return (hpcbd_stamp_t){status->st_ino, status->st_mtim};
}

static bool same_stamp(const hpcbd_stamp_t *a, const hpcbd_stamp_t *b)
{
    return a->inode == b->inode && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* State of the file before it is read: later changes are read once more. */
static hpcbd_stamp_t look_at_record(const char *state_dir, uint32_t job_id)
{
    char path[PATH_MAX];
    struct stat status;
    int n = snprintf(path, sizeof(path), "%s/jobs/%" PRIu32, state_dir, job_id);

    return n > 0 && n < (int)sizeof(path) && lstat(path, &status) == 0
               ? stamp_of(&status)
               : (hpcbd_stamp_t){0};
}

/* Read one job's files; it is added, updated, or removed when there is no record. NULL
 * when there is none, or too many jobs. */
static hpcbd_job_t *load_job(hpcbd_registry_t *registry, const char *state_dir,
                             uint32_t job_id)
{
    hpcbd_stamp_t stamp = look_at_record(state_dir, job_id);
    hpcb_job_state_t state;
    hpcb_error_t err;
    hpcbd_job_t *job;

    if (hpcb_state_load(state_dir, job_id, &state, &err) == 0) {
        job = take_state(registry, state_dir, &state);
        if (job)
            job->stamp = stamp;
        return job;
    }
    if (errno == ENOENT)
        hpcbd_registry_remove(registry, job_id);
    else
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    return NULL;
}

/* Nothing to read: the record is the one that is known. */
static bool is_known(const hpcbd_job_t *job, int jobs, const char *name)
{
    struct stat status;
    hpcbd_stamp_t stamp;

    if (!job || fstatat(jobs, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    stamp = stamp_of(&status);
    return same_stamp(&job->stamp, &stamp);
}

static void remove_unseen(hpcbd_registry_t *registry)
{
    for (size_t i = registry->count; i-- > 0;)
        if (!registry->jobs[i]->seen)
            remove_at(registry, i);
}

/* Slurm's directory of the job, found by a job whose directory is known. */
typedef struct {
    const char *name;
    hpcbd_job_t *job;
} place_t;

static int is_place(const char *dir, void *arg)
{
    place_t *place = arg;
    const char *name = strrchr(dir, '/');

    if (!name || strcmp(name + 1, place->name) != 0)
        return 0;
    return hpcb_text_copy(place->job->dir, sizeof(place->job->dir), dir) == 0;
}

static void look_beside(const hpcbd_registry_t *registry, hpcbd_job_t *job)
{
    char name[32];
    place_t place = {name, job};

    snprintf(name, sizeof(name), "job_%" PRIu32, job->state.job_id);
    for (size_t i = 0; i < registry->count && !job->dir[0]; i++) {
        const hpcbd_job_t *other = registry->jobs[i];

        if (other->dir[0] && !other->marked) {
            hpcb_steps_jobs(registry->node, other->dir, is_place, &place);
            return;
        }
    }
}

static void see_mark(hpcbd_registry_t *registry, const char *state_dir, uint32_t job_id)
{
    hpcbd_job_t *job = hpcbd_registry_find(registry, job_id);

    if (!job) {
        job = add_job(registry, job_id);
        if (!job)
            return;
        job->state = (hpcb_job_state_t){.job_id = job_id,
                                        .uid = HPCBD_NO_USER,
                                        .klass = HPCB_CLASS_GUEST,
                                        .begin_us = 1};
        job->marked = true;
    }
    if (!job->marked)
        return;
    job->seen = true;
    look_for_place(job, state_dir);
    if (!job->dir[0])
        look_beside(registry, job);
}

/* On v1 the tasks of a guest are in a group next to the mark: without it nothing of the
 * job runs, and the mark may be one that no epilog has removed. */
static bool runs(const hpcbd_registry_t *registry, const char *marks, const char *id)
{
    char name[32];

    snprintf(name, sizeof(name), "job_%.16s", id);
    return hpcb_node_version(registry->node, HPCB_CTL_CPU) != 1 ||
           hpcb_knob_exists(marks, name);
}

/* After the records: they win. */
static void see_marks(hpcbd_registry_t *registry, const char *state_dir, int jobs)
{
    const char *mount =
        registry->node ? hpcb_node_mount(registry->node, HPCB_CTL_CPU) : NULL;
    hpcb_autoclosedir DIR *handle = NULL;
    char path[PATH_MAX];
    struct dirent *entry;
    uint64_t id;

    if (mount &&
        hpcb_knob_path(mount, registry->guest_cgroup, path, sizeof(path), NULL) == 0)
        handle = opendir(path);
    while (handle && (entry = readdir(handle))) {
        const char *name = entry->d_name;

        /* On v1 guests with a record may have such a group too (spank/stepd.c). */
        if (strncmp(name, "guest_", 6) == 0 &&
            hpcb_text_u64(name + 6, UINT32_MAX, &id) == 0 && id != 0 &&
            (jobs < 0 || faccessat(jobs, name + 6, F_OK, AT_SYMLINK_NOFOLLOW) < 0) &&
            runs(registry, path, name + 6))
            see_mark(registry, state_dir, (uint32_t)id);
    }
}

static DIR *open_records(const char *state_dir)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/jobs", state_dir);

    return n > 0 && n < (int)sizeof(path) ? opendir(path) : NULL;
}

/* False: it has to be read. */
static bool refresh_one(hpcbd_registry_t *registry, const char *state_dir, int jobs,
                        const char *name, uint32_t job_id)
{
    hpcbd_job_t *job = hpcbd_registry_find(registry, job_id);

    if (job)
        job->seen = true;
    if (!is_known(job, jobs, name))
        return false;
    look_for_place(job, state_dir);
    return true;
}

bool hpcbd_registry_refresh(hpcbd_registry_t *registry, const char *state_dir,
                            unsigned loads_max)
{
    hpcb_autoclosedir DIR *handle = open_records(state_dir);
    struct dirent *entry;
    bool all = true;
    uint64_t id;

    if (!handle && errno != ENOENT) {
        hpcb_log(HPCB_LOG_ERROR, "%s/jobs: %s", state_dir, strerror(errno));
        return true;
    }
    for (size_t i = 0; i < registry->count; i++)
        registry->jobs[i]->seen = false;
    while (handle && (entry = readdir(handle))) {
        if (hpcb_text_u64(entry->d_name, UINT32_MAX, &id) || id == 0 ||
            refresh_one(registry, state_dir, dirfd(handle), entry->d_name,
                        (uint32_t)id))
            continue;
        if (loads_max == 0)
            all = false;
        else if (load_job(registry, state_dir, (uint32_t)id))
            loads_max--;
    }
    see_marks(registry, state_dir, handle ? dirfd(handle) : -1);
    remove_unseen(registry);
    return all;
}
