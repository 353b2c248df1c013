/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/text.h"
#include "jobsubmit/profiles.h"

#define CHECK_INTERVAL_MS 1000

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Without the mutex: this takes its time.  A bad file leaves what was there. */
static void read_store(hpcb_profile_cache_t *cache, const char *path)
{
    hpcb_error_t err;
    hpcb_profiles_t *old, *read = hpcb_profiles_load(path, &err);

    if (!read && errno != ENOENT) {
        hpcb_log(HPCB_LOG_ERROR, "%s; the profiles read before stay in force",
                 err.text);
        return;
    }
    pthread_mutex_lock(&cache->mutex);
    old = cache->store;
    cache->store = read;
    pthread_mutex_unlock(&cache->mutex);
    hpcb_profiles_free(old);
}

/* path stays as it is while reading is set. */
static void *reader(void *arg)
{
    hpcb_profile_cache_t *cache = arg;

    read_store(cache, cache->path);
    pthread_mutex_lock(&cache->mutex);
    cache->reading = false;
    pthread_mutex_unlock(&cache->mutex);
    return NULL;
}

/* With the mutex held and no thread reading.  If no thread can be created, the next
 * check tries again. */
static int start_reader(hpcb_profile_cache_t *cache)
{
    if (cache->joinable)
        pthread_join(cache->reader, NULL);
    cache->joinable = pthread_create(&cache->reader, NULL, reader, cache) == 0;
    cache->reading = cache->joinable;
    return cache->joinable ? 0 : -1;
}

static struct stat look_at(const char *path)
{
    struct stat now;

    if (stat(path, &now))
        memset(&now, 0, sizeof(now));
    return now;
}

/* With the mutex held.  A file that is changed while it is read differs at the next
 * check, because its state was stored before. */
static void refresh(hpcb_profile_cache_t *cache, const char *path, int64_t now_ms)
{
    bool other = strcmp(cache->path, path) != 0;
    struct stat now;

    if (cache->reading || (!other && now_ms - cache->checked_ms < CHECK_INTERVAL_MS) ||
        hpcb_text_copy(cache->path, sizeof(cache->path), path))
        return;
    if (other) {
        hpcb_profiles_free(cache->store);
        cache->store = NULL;
    }
    cache->checked_ms = now_ms;
    now = look_at(path);
    if ((other || !is_same_file(&now, &cache->seen)) && start_reader(cache) == 0)
        cache->seen = now;
}

void hpcb_profile_cache_open(hpcb_profile_cache_t *cache, const char *path,
                             int64_t now_ms)
{
    if (hpcb_text_copy(cache->path, sizeof(cache->path), path))
        return;
    cache->checked_ms = now_ms;
    cache->seen = look_at(path);
    read_store(cache, path);
}

bool hpcb_profile_cache_get(hpcb_profile_cache_t *cache, const char *path,
                            int64_t now_ms, const hpcb_profile_key_t *key,
                            hpcb_profile_t *profile)
{
    const hpcb_profile_t *found = NULL;

    pthread_mutex_lock(&cache->mutex);
    refresh(cache, path, now_ms);
    if (cache->store)
        found = hpcb_profiles_look_up(cache->store, key);
    if (found)
        *profile = *found;
    pthread_mutex_unlock(&cache->mutex);
    return found != NULL;
}

void hpcb_profile_cache_close(hpcb_profile_cache_t *cache)
{
    if (cache->joinable)
        pthread_join(cache->reader, NULL);
    hpcb_profiles_free(cache->store);
    *cache = (hpcb_profile_cache_t){.mutex = PTHREAD_MUTEX_INITIALIZER};
}

/* Figures so small that it does not matter how much they vary: 1 MiB/s, 2 % of the
 * CPUs. */
static bool is_trifle(const hpcb_profile_figure_t *figure, hpcb_profile_axis_t axis)
{
    uint64_t limit =
        axis == HPCB_PROFILE_CPU ? HPCB_PROFILE_ONE / 50 : UINT64_C(1) << 20;

    return figure->count > 0 && figure->mean + figure->deviation < limit;
}

/* 0 means "not given" to all who read options: a job that was measured and used nothing
 * has 1. */
static uint64_t steady(const hpcb_profile_t *profile, hpcb_profile_axis_t axis)
{
    const hpcb_profile_figure_t *figure = &profile->figures[axis];

    if (!hpcb_profile_steady(figure) && !is_trifle(figure, axis))
        return 0;
    return figure->mean > 0 ? figure->mean : 1;
}

bool hpcb_profile_apply(const hpcb_profile_t *profile, hpcb_options_t *options)
{
    options->bw_mem = steady(profile, HPCB_PROFILE_MEM);
    options->bw_net = steady(profile, HPCB_PROFILE_NET);
    options->bw_cpu = (double)steady(profile, HPCB_PROFILE_CPU) / HPCB_PROFILE_ONE;
    return options->bw_mem > 0 || options->bw_net > 0 || options->bw_cpu > 0;
}

char *hpcb_profile_program(const hpcb_profile_key_t *key,
                           char buf[static HPCB_TAG_PROGRAM_MAX])
{
    char name[HPCB_PROFILE_ENCODED_MAX], executable[HPCB_PROFILE_ENCODED_MAX];
    bool both = *key->executable && strcmp(key->executable, key->name) != 0;
    int n = snprintf(buf, HPCB_TAG_PROGRAM_MAX, "%s%s%s",
                     hpcb_profile_encode(key->name, name), both ? "/" : "",
                     both ? hpcb_profile_encode(key->executable, executable) : "");

    if (n < 0 || n >= HPCB_TAG_PROGRAM_MAX)
        buf[0] = '\0';
    return buf;
}
