/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>

#include "common/log.h"
#include "common/text.h"
#include "jobsubmit/settings.h"

#define CHECK_INTERVAL_MS 1000

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Caller holds the mutex.  A file that is changed while it is read is another at the
 * next look, because it was looked at before. */
static void refresh(hpcb_settings_t *settings, int64_t now_ms)
{
    struct stat now;
    hpcb_error_t err;

    settings->checked_ms = now_ms;
    if (stat(settings->path, &now))
        memset(&now, 0, sizeof(now));
    if (settings->ready && is_same_file(&now, &settings->seen))
        return;
    settings->seen = now;
    if (hpcb_conf_load(settings->path, &settings->conf, &err))
        hpcb_log(HPCB_LOG_ERROR, "%s; %s", err.text,
                 settings->ready ? "the settings read before stay in force"
                                 : "defaults are used");
    else
        hpcb_log(HPCB_LOG_INFO, "settings read from %s", settings->path);
}

void hpcb_settings_open(hpcb_settings_t *settings, const char *path, int64_t now_ms)
{
    pthread_mutex_lock(&settings->mutex);
    settings->ready = false;
    hpcb_conf_defaults(&settings->conf);
    if (hpcb_text_copy(settings->path, sizeof(settings->path), path))
        settings->path[0] = '\0';
    refresh(settings, now_ms);
    settings->ready = true;
    pthread_mutex_unlock(&settings->mutex);
}

void hpcb_settings_get(hpcb_settings_t *settings, int64_t now_ms, hpcb_conf_t *conf)
{
    pthread_mutex_lock(&settings->mutex);
    if (!settings->ready)
        hpcb_conf_defaults(&settings->conf);
    else if (now_ms - settings->checked_ms >= CHECK_INTERVAL_MS)
        refresh(settings, now_ms);
    *conf = settings->conf;
    pthread_mutex_unlock(&settings->mutex);
}
