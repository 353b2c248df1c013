/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <pthread.h>
#include <string.h>

#include "common/file.h"
#include "common/log.h"
#include "select/settings.h"

/* One reconfiguration reads the file up to three times. */
#define REPEAT_SECONDS 5

static struct {
    pthread_mutex_t mutex;
    hpcb_conf_t conf;
    hpcb_file_stamp_t stamp; /* of the file that was read; none if that failed */
    time_t as_of, failed;
    bool ready;
} settings = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Caller holds the mutex. */
static void say_failure(const hpcb_error_t *err)
{
    time_t now = time(NULL);

    if (now - settings.failed < REPEAT_SECONDS)
        return;
    settings.failed = now;
    hpcb_log(HPCB_LOG_ERROR, "%s; %s", err->text,
             settings.ready ? "the settings read before stay in force"
                            : "defaults are used");
}

/* Caller holds the mutex.  Between two reconfigurations, `scontrol setdebug` changes
 * slurmctld's time of configuration: an unchanged file is not read again. */
static void read_file(void)
{
    char path[PATH_MAX];
    hpcb_error_t err;

    if (!settings.ready)
        hpcb_conf_defaults(&settings.conf);
    hpcb_conf_find(NULL, path, sizeof(path));
    if (!hpcb_file_changed(path, &settings.stamp))
        return;
    if (hpcb_conf_load(path, &settings.conf, &err)) {
        settings.stamp = (hpcb_file_stamp_t){0};
        say_failure(&err);
    }
    settings.ready = true;
}

void hpcb_select_settings_read(void)
{
    pthread_mutex_lock(&settings.mutex);
    read_file();
    pthread_mutex_unlock(&settings.mutex);
}

void hpcb_select_settings_refresh(time_t as_of)
{
    pthread_mutex_lock(&settings.mutex);
    if (!settings.ready || settings.as_of != as_of)
        read_file();
    settings.as_of = as_of;
    pthread_mutex_unlock(&settings.mutex);
}

bool hpcb_select_is_guest(const char *partition)
{
    bool guest;

    pthread_mutex_lock(&settings.mutex);
    if (!settings.ready)
        hpcb_conf_defaults(&settings.conf);
    guest = hpcb_conf_is_guest(&settings.conf, partition);
    pthread_mutex_unlock(&settings.mutex);
    return guest;
}

uint32_t hpcb_select_guest_priority(void)
{
    uint32_t priority;

    pthread_mutex_lock(&settings.mutex);
    if (!settings.ready)
        hpcb_conf_defaults(&settings.conf);
    priority = settings.conf.guest_priority;
    pthread_mutex_unlock(&settings.mutex);
    return priority;
}

bool hpcb_select_pins(void)
{
    bool pins;

    pthread_mutex_lock(&settings.mutex);
    if (!settings.ready)
        hpcb_conf_defaults(&settings.conf);
    pins = settings.conf.guest_pin_to_primaries;
    pthread_mutex_unlock(&settings.mutex);
    return pins;
}

void hpcb_select_memory(hpcb_select_memory_t *memory)
{
    pthread_mutex_lock(&settings.mutex);
    if (!settings.ready)
        hpcb_conf_defaults(&settings.conf);
    memory->unused = settings.conf.guest_memory_unused;
    memory->reserve = settings.conf.guest_memory_reserve;
    memory->settle = settings.conf.guest_memory_settle;
    memcpy(memory->dir, settings.conf.collector_dir, sizeof(memory->dir));
    pthread_mutex_unlock(&settings.mutex);
}

int hpcb_select_capacities(hpcb_capacity_t *rows, size_t *count)
{
    char path[PATH_MAX];

    hpcb_conf_find(NULL, path, sizeof(path));
    return hpcb_conf_capacities(path, rows, count, NULL);
}
