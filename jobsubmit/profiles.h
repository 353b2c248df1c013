/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The profile store as slurmctld's threads see it: a copy in memory.  The file is
 * looked at (one stat) at most once a second; where it is another, a thread of our own
 * reads it (up to 30 ms for a full store) while submissions go on with the copy that
 * there is.
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
    char path[PATH_MAX];    /* the file that was looked at last */
    struct stat seen;       /* as it was then; zeroed: none */
    hpcb_profiles_t *store; /* the last good one, NULL where there is no file */
    int64_t checked_ms;
    pthread_t reader;
    bool reading;  /* reader works on path */
    bool joinable; /* reader is to be joined, whether it works or not */
} hpcb_profile_cache_t;

/* Begin with the file at path, read at once.  now_ms is a monotonic clock.  Never
 * fails: a file that is bad is one line in the log. */
void hpcb_profile_cache_open(hpcb_profile_cache_t *cache, const char *path,
                             int64_t now_ms);

/*
 * Copy the profile of key in the store at path (common/profile.h, look_up) to profile.
 * Returns false where there is none.  A file that has become bad is logged once and
 * changes nothing.  Safe from any thread.
 */
bool hpcb_profile_cache_get(hpcb_profile_cache_t *cache, const char *path,
                            int64_t now_ms, const hpcb_profile_key_t *key,
                            hpcb_profile_t *profile);

/* End the thread and forget the copy; nobody else may use cache meanwhile. */
void hpcb_profile_cache_close(hpcb_profile_cache_t *cache);

/* Fill in bw_* of options from what is steady in profile.  Returns whether any was;
 * bw_* must not be set before. */
bool hpcb_profile_apply(const hpcb_profile_t *profile, hpcb_options_t *options);

/* What the tag calls the program of key (common/tag.h): the job's name and, where it
 * is another, the executable's.  Returns buf, "" where that is too long. */
char *hpcb_profile_program(const hpcb_profile_key_t *key,
                           char buf[static HPCB_TAG_PROGRAM_MAX]);

#endif
