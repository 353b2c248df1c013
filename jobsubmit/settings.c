/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/log.h"
#include "common/text.h"
#include "jobsubmit/settings.h"

/* Caller holds the mutex. */
static void read_file(hpcb_settings_t *settings)
{
    hpcb_error_t err;

    if (hpcb_conf_load(settings->path, &settings->conf, &err) == 0) {
        hpcb_log(HPCB_LOG_INFO, "settings read from %s", settings->path);
        return;
    }
    settings->stamp = (hpcb_file_stamp_t){0};
    hpcb_log(HPCB_LOG_ERROR, "%s; %s", err.text,
             settings->ready ? "the settings read before stay in force"
                             : "defaults are used");
}

/* Caller holds the mutex.  `scontrol setdebug` changes as_of, too: an unchanged file is
 * not read again. */
static void look_at_file(hpcb_settings_t *settings, time_t as_of)
{
    settings->as_of = as_of;
    if (hpcb_file_changed(settings->path, &settings->stamp))
        read_file(settings);
}

void hpcb_settings_open(hpcb_settings_t *settings, const char *path, time_t as_of)
{
    pthread_mutex_lock(&settings->mutex);
    settings->ready = false;
    hpcb_conf_defaults(&settings->conf);
    if (hpcb_text_copy(settings->path, sizeof(settings->path), path))
        settings->path[0] = '\0';
    settings->stamp = (hpcb_file_stamp_t){0};
    look_at_file(settings, as_of);
    settings->ready = true;
    pthread_mutex_unlock(&settings->mutex);
}

void hpcb_settings_get(hpcb_settings_t *settings, time_t as_of, hpcb_conf_t *conf)
{
    pthread_mutex_lock(&settings->mutex);
    if (!settings->ready)
        hpcb_conf_defaults(&settings->conf);
    else if (settings->as_of != as_of)
        look_at_file(settings, as_of);
    *conf = settings->conf;
    pthread_mutex_unlock(&settings->mutex);
}
