/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * hpc-balance.conf for slurmctld's threads: read when the plugin is loaded and after
 * each reconfiguration of slurmctld, never in between, as in select/ and preempt/, so
 * that all parts of slurmctld classify the same jobs as guests.  `scontrol reconfigure`
 * does not reach plugins of this kind, so the time of slurmctld's configuration is
 * checked.
 */
#ifndef HPCB_JOBSUBMIT_SETTINGS_H
#define HPCB_JOBSUBMIT_SETTINGS_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include "common/conf.h"
#include "common/file.h"

/* Starts as {.mutex = PTHREAD_MUTEX_INITIALIZER}. */
typedef struct {
    pthread_mutex_t mutex;
    char path[PATH_MAX];
    hpcb_conf_t conf;        /* the last valid one */
    time_t as_of;            /* slurmctld's time of configuration at the last check */
    hpcb_file_stamp_t stamp; /* of the file that was read; none if that failed */
    bool ready;
} hpcb_settings_t;

/* Start with the file at path, or with defaults and a line in the log if it is
 * invalid.  as_of: slurmctld's time of configuration.  Never fails, because slurmctld
 * must start in any case. */
void hpcb_settings_open(hpcb_settings_t *settings, const char *path, time_t as_of);

/*
 * Copy the present settings to conf; they are read again if as_of, slurmctld's time of
 * configuration, has changed.  An invalid or missing file is logged and the settings
 * stay.  Thread-safe; before hpcb_settings_open conf gets the defaults.
 */
void hpcb_settings_get(hpcb_settings_t *settings, time_t as_of, hpcb_conf_t *conf);

#endif
