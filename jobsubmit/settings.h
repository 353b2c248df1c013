/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * hpc-balance.conf as slurmctld's threads see it.  `scontrol reconfigure` does not
 * reach plugins of this kind, so the file is looked at (one stat) at most once a
 * second and read again when it is another.
 */
#ifndef HPCB_JOBSUBMIT_SETTINGS_H
#define HPCB_JOBSUBMIT_SETTINGS_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include "common/conf.h"

/* Starts as {.mutex = PTHREAD_MUTEX_INITIALIZER}. */
typedef struct {
    pthread_mutex_t mutex;
    char path[PATH_MAX];
    hpcb_conf_t conf; /* the last good one */
    struct stat seen; /* the file that was read or refused last; zeroed: none */
    int64_t checked_ms;
    bool ready;
} hpcb_settings_t;

/* Begin with the file at path, or with defaults where it cannot be read: then the log
 * says so.  Never fails: slurmctld must start in any case. */
void hpcb_settings_open(hpcb_settings_t *settings, const char *path, int64_t now_ms);

/*
 * Copy the settings in force at now_ms (a monotonic clock) to conf.  A file that has
 * become bad or has gone is logged once and changes nothing.  Safe from any thread;
 * before hpcb_settings_open the defaults are given.
 */
void hpcb_settings_get(hpcb_settings_t *settings, int64_t now_ms, hpcb_conf_t *conf);

#endif
