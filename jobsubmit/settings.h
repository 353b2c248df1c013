/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * hpc-balance.conf as slurmctld's threads see it: read when the plugin is loaded and
 * when slurmctld was reconfigured, never in between, as in select/ and preempt/, so
 * that all of slurmctld calls the same jobs guests.  `scontrol reconfigure` does not
 * reach plugins of this kind; the time of slurmctld's configuration tells.
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
    hpcb_conf_t conf; /* the last good one */
    time_t as_of;     /* slurmctld's time of configuration when it was looked at */
    hpcb_file_stamp_t stamp; /* of the file that was read; none if that failed */
    bool ready;
} hpcb_settings_t;

/* Begin with the file at path, or with defaults where it cannot be read: then the log
 * says so.  as_of: slurmctld's time of configuration.  Never fails: slurmctld must
 * start in any case. */
void hpcb_settings_open(hpcb_settings_t *settings, const char *path, time_t as_of);

/*
 * Copy the settings in force to conf; they are read anew where as_of, slurmctld's time
 * of configuration, is another than before.  A file that has become bad or has gone is
 * logged and changes nothing.  Safe from any thread; before hpcb_settings_open the
 * defaults are given.
 */
void hpcb_settings_get(hpcb_settings_t *settings, time_t as_of, hpcb_conf_t *conf);

#endif
