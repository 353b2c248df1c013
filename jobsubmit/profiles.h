/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The profile store for slurmctld's threads: a copy in memory.  The file is checked
 * (one stat) at most once a second; if it has changed, a thread of our own reads it (up
 * to 30 ms for a full store) while submissions use the present copy.
 */
#ifndef HPCB_JOBSUBMIT_PROFILES_H
#define HPCB_JOBSUBMIT_PROFILES_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include "common/options.h"
#include "common/profile.h"
#include "common/tag.h"

/* Starts as {.mutex = PTHREAD_MUTEX_INITIALIZER}. */
typedef struct {
    pthread_mutex_t mutex;
    char path[PATH_MAX];    /* file of the last check */
    struct stat seen;       /* its state at that time; zeroed: none */
    hpcb_profiles_t *store; /* the last valid one; NULL if there is no file */
    int64_t checked_ms;
    pthread_t reader;
    bool reading;  /* reader is reading path */
    bool joinable; /* reader must be joined, whether it is running or not */
} hpcb_profile_cache_t;

/* Start with the file at path, read at once.  now_ms is of a monotonic clock.  Never
 * fails: an invalid file is one line in the log. */
void hpcb_profile_cache_open(hpcb_profile_cache_t *cache, const char *path,
                             int64_t now_ms);

/*
 * Copy the profile of key in the store at path (common/profile.h, look_up) to profile.
 * Return false if there is none.  An invalid file is logged once and the copy stays.
 * Thread-safe.
 */
bool hpcb_profile_cache_get(hpcb_profile_cache_t *cache, const char *path,
                            int64_t now_ms, const hpcb_profile_key_t *key,
                            hpcb_profile_t *profile);

/* End the thread and free the copy; no other thread may use cache any more. */
void hpcb_profile_cache_close(hpcb_profile_cache_t *cache);

/* Set bw_* of options from the steady figures of profile.  Return whether any was set;
 * bw_* must not be set before. */
bool hpcb_profile_apply(const hpcb_profile_t *profile, hpcb_options_t *options);

/* Write the tag's name for the program of key (common/tag.h): the job's name and, if it
 * differs, the executable's.  Return buf, "" if that is too long. */
char *hpcb_profile_program(const hpcb_profile_key_t *key,
                           char buf[static HPCB_TAG_PROGRAM_MAX]);

#endif
