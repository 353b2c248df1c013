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

/* What a look at the file came to. */
typedef struct {
    struct stat now; /* zeroed: there is none */
    bool changed;
    bool keep; /* it is bad: the old copy stays */
    hpcb_profiles_t *store;
} look_t;

/* A file that is changed while it is read is another at the next look, because it was
 * looked at before. */
static look_t look_at(const char *path, const struct stat *seen, bool looked)
{
    look_t look = {.changed = true};
    hpcb_error_t err;

    if (stat(path, &look.now))
        memset(&look.now, 0, sizeof(look.now));
    if (looked && is_same_file(&look.now, seen)) {
        look.changed = false;
        return look;
    }
    look.store = hpcb_profiles_load(path, &err);
    look.keep = !look.store && errno != ENOENT;
    if (look.keep)
        hpcb_log(HPCB_LOG_ERROR, "%s; the profiles read before stay in force",
                 err.text);
    return look;
}

/* Whether the caller is the one who looks at the file now; with the mutex held. */
static bool is_my_turn(hpcb_profile_cache_t *cache, const char *path, int64_t now_ms)
{
    bool other = strcmp(cache->path, path) != 0;

    if (cache->busy ||
        (!other && cache->looked && now_ms - cache->checked_ms < CHECK_INTERVAL_MS))
        return false;
    if (other) {
        hpcb_profiles_free(cache->store);
        cache->store = NULL;
        cache->looked = false;
    }
    if (hpcb_text_copy(cache->path, sizeof(cache->path), path))
        return false;
    cache->busy = true;
    cache->checked_ms = now_ms;
    return true;
}

/* With the mutex held, but for the look itself. */
static void refresh(hpcb_profile_cache_t *cache, const char *path)
{
    struct stat seen = cache->seen;
    bool looked = cache->looked;
    hpcb_profiles_t *old = NULL;
    look_t look;

    pthread_mutex_unlock(&cache->mutex);
    look = look_at(path, &seen, looked);
    pthread_mutex_lock(&cache->mutex);
    cache->busy = false;
    cache->looked = true;
    if (look.changed)
        cache->seen = look.now;
    if (look.changed && !look.keep) {
        old = cache->store;
        cache->store = look.store;
    }
    hpcb_profiles_free(old);
}

bool hpcb_profile_cache_get(hpcb_profile_cache_t *cache, const char *path,
                            int64_t now_ms, const hpcb_profile_key_t *key,
                            hpcb_profile_t *profile)
{
    const hpcb_profile_t *found = NULL;

    pthread_mutex_lock(&cache->mutex);
    if (is_my_turn(cache, path, now_ms))
        refresh(cache, path);
    if (cache->store)
        found = hpcb_profiles_look_up(cache->store, key);
    if (found)
        *profile = *found;
    pthread_mutex_unlock(&cache->mutex);
    return found != NULL;
}

void hpcb_profile_cache_close(hpcb_profile_cache_t *cache)
{
    pthread_mutex_lock(&cache->mutex);
    hpcb_profiles_free(cache->store);
    cache->store = NULL;
    cache->looked = false;
    pthread_mutex_unlock(&cache->mutex);
}

/* 0 means "not given" to all who read options. */
static uint64_t steady(const hpcb_profile_t *profile, hpcb_profile_axis_t axis)
{
    const hpcb_profile_figure_t *figure = &profile->figures[axis];

    return hpcb_profile_steady(figure) ? figure->mean : 0;
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
