/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The profile store as slurmctld's threads see it: a copy in memory.  The file is
 * looked at (one stat) at most once a second and read when it is another, by one
 * thread, while the others go on with the copy that they have.
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
#include "common/record.h"

/* Starts as {.mutex = PTHREAD_MUTEX_INITIALIZER}. */
typedef struct {
    pthread_mutex_t mutex;
    char path[PATH_MAX];    /* the file that was looked at last */
    struct stat seen;       /* as it was then; zeroed: none */
    hpcb_profiles_t *store; /* the last good one, NULL where there is no file */
    int64_t checked_ms;
    bool looked; /* at path, ever */
    bool busy;   /* a thread reads the file */
} hpcb_profile_cache_t;

/*
 * Copy the profile of key in the store at path (common/profile.h, look_up) to profile.
 * now_ms is a monotonic clock.  Returns false where there is none.  A file that has
 * become bad is logged once and changes nothing.  Safe from any thread.
 */
bool hpcb_profile_cache_get(hpcb_profile_cache_t *cache, const char *path,
                            int64_t now_ms, const hpcb_profile_key_t *key,
                            hpcb_profile_t *profile);

/* Forget the copy. */
void hpcb_profile_cache_close(hpcb_profile_cache_t *cache);

/* Fill in bw_* of options from what is steady in profile.  Returns whether any was;
 * bw_* must not be set before. */
bool hpcb_profile_apply(const hpcb_profile_t *profile, hpcb_options_t *options);

/* What the tag calls the program of key (common/record.h): the job's name and, where it
 * is another, the executable's.  Returns buf, "" where that is too long. */
char *hpcb_profile_program(const hpcb_profile_key_t *key,
                           char buf[static HPCB_TAG_PROGRAM_MAX]);

#endif
