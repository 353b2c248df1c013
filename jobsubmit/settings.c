/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/log.h"
#include "common/text.h"
#include "jobsubmit/settings.h"

/* Caller holds the mutex. */
static void read_file(hpcb_settings_t *settings, time_t as_of)
{
    hpcb_error_t err;

    settings->as_of = as_of;
    if (hpcb_conf_load(settings->path, &settings->conf, &err))
        hpcb_log(HPCB_LOG_ERROR, "%s; %s", err.text,
                 settings->ready ? "the settings read before stay in force"
                                 : "defaults are used");
    else
        hpcb_log(HPCB_LOG_INFO, "settings read from %s", settings->path);
}

void hpcb_settings_open(hpcb_settings_t *settings, const char *path, time_t as_of)
{
    pthread_mutex_lock(&settings->mutex);
    settings->ready = false;
    hpcb_conf_defaults(&settings->conf);
    if (hpcb_text_copy(settings->path, sizeof(settings->path), path))
        settings->path[0] = '\0';
    read_file(settings, as_of);
    settings->ready = true;
    pthread_mutex_unlock(&settings->mutex);
}

void hpcb_settings_get(hpcb_settings_t *settings, time_t as_of, hpcb_conf_t *conf)
{
    pthread_mutex_lock(&settings->mutex);
    if (!settings->ready)
        hpcb_conf_defaults(&settings->conf);
    else if (settings->as_of != as_of)
        read_file(settings, as_of);
    *conf = settings->conf;
    pthread_mutex_unlock(&settings->mutex);
}
