/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The profile store: what earlier runs of a job have used, by user, job name and
 * executable.  One JSON file on the controller (hpcbctl(8)), replaced as a whole
 * by one writer at a time, so that a reader, and a crash at any point, meets the old or
 * the new one.  Not for slurmstepd: needs json-c.
 *
 * Names are any bytes but NUL, of users' choosing; in the file they are printable ASCII
 * with %XX for the rest.  A store is bounded in entries, entries of one user and bytes;
 * what has not been touched for longest goes first, so that nobody can push out others
 * with names made up for that.
 */
#ifndef HPCB_COMMON_PROFILE_H
#define HPCB_COMMON_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/error.h"

#define HPCB_PROFILES_MAX      4096
#define HPCB_PROFILES_USER_MAX 512 /* of one user */
#define HPCB_PROFILES_BYTES    (2 * 1024 * 1024)

/* Longest name of a job or executable, with its NUL. */
#define HPCB_PROFILE_NAME_MAX 256
/* The same in the form of the file. */
#define HPCB_PROFILE_ENCODED_MAX (3 * (HPCB_PROFILE_NAME_MAX - 1) + 1)

#define HPCB_PROFILE_ONE 1000000 /* all CPUs of a job, all the time */

/*
 * One figure over the runs so far: exponentially weighted, the newest run counts a
 * quarter (of the first three each counts the same).  The deviation is the mean
 * distance of a run from the mean before it, weighted likewise.
 */
typedef struct {
    uint64_t mean, deviation;
    uint32_t count; /* runs; 0: never measured, and nothing else is set */
} hpcb_profile_figure_t;

typedef enum {
    HPCB_PROFILE_MEM,  /* bytes/s per node, as policy/fitness.h has it */
    HPCB_PROFILE_NET,  /* the same */
    HPCB_PROFILE_CPU,  /* of HPCB_PROFILE_ONE */
    HPCB_PROFILE_PEAK, /* bytes: the most memory that a run held on one node */
    /* How much phases differ: the rate that 95 % of a run's quanta stay below. */
    HPCB_PROFILE_MEM_PEAK,
    HPCB_PROFILE_NET_PEAK,
    HPCB_PROFILE_FIGURES
} hpcb_profile_axis_t;

/* "mem", "net", "cpu", "peak", "mem_peak", "net_peak". */
const char *hpcb_profile_axis_name(hpcb_profile_axis_t axis);

/* The largest value on an axis. */
uint64_t hpcb_profile_axis_max(hpcb_profile_axis_t axis);

typedef struct {
    uint32_t uid;
    char name[HPCB_PROFILE_NAME_MAX];       /* of the job, not empty */
    char executable[HPCB_PROFILE_NAME_MAX]; /* of what sbatch or srun was given, without
                                               directory; "": all of that name */
} hpcb_profile_key_t;

/* Fill in a key: executable (NULL: unknown) is cut to what follows its last '/'.  0, or
 * -1 where name is NULL or empty, or either is too long: such jobs have no profile. */
int hpcb_profile_key(uint32_t uid, const char *name, const char *executable,
                     hpcb_profile_key_t *key);

typedef struct {
    hpcb_profile_key_t key;
    hpcb_profile_figure_t figures[HPCB_PROFILE_FIGURES];
    uint64_t updated; /* seconds since the epoch */
    bool fixed;       /* set by an administrator: nothing is learned any more */
} hpcb_profile_t;

/* One run of a job, or values to set. */
typedef struct {
    bool known[HPCB_PROFILE_FIGURES];
    uint64_t value[HPCB_PROFILE_FIGURES]; /* larger ones count as the axis' maximum */
} hpcb_profile_run_t;

typedef struct hpcb_profiles hpcb_profiles_t;

/* An empty store, NULL when memory runs out. */
hpcb_profiles_t *hpcb_profiles_new(void);
void hpcb_profiles_free(hpcb_profiles_t *store);

/* Entries, sorted by user, name and executable. */
size_t hpcb_profiles_count(const hpcb_profiles_t *store);
const hpcb_profile_t *hpcb_profiles_at(const hpcb_profiles_t *store, size_t index);

/* The entry of exactly this key, or NULL. */
const hpcb_profile_t *hpcb_profiles_find(const hpcb_profiles_t *store,
                                         const hpcb_profile_key_t *key);

/* The entry of key or else that of all executables of its user and name, or NULL. */
const hpcb_profile_t *hpcb_profiles_look_up(const hpcb_profiles_t *store,
                                            const hpcb_profile_key_t *key);

/* Whether a figure says something about the next run: it was measured, and runs differ
 * by less than half of their mean. */
bool hpcb_profile_steady(const hpcb_profile_figure_t *figure);

/* What 95 of 100 runs stay below, if runs differ as those before did: two deviations
 * above the mean.  0 if that few runs (and nobody who set it) say nothing. */
#define HPCB_PROFILE_P95_RUNS 3
uint64_t hpcb_profile_p95(const hpcb_profile_t *profile, hpcb_profile_axis_t axis);

/* Fold a run into the entry of key and into that of all its executables, at now
 * (seconds since the epoch).  A run without any figure changes nothing.  0, or -1 with
 * err when memory runs out. */
int hpcb_profiles_learn(hpcb_profiles_t *store, const hpcb_profile_key_t *key,
                        const hpcb_profile_run_t *run, uint64_t now, hpcb_error_t *err);

/* Make the entry of key hold exactly these values, fixed. */
int hpcb_profiles_set(hpcb_profiles_t *store, const hpcb_profile_key_t *key,
                      const hpcb_profile_run_t *values, uint64_t now,
                      hpcb_error_t *err);

/* Which entries: a part that is not given fits all. */
typedef struct {
    bool by_user;
    uint32_t uid;
    const char *name;       /* NULL: any */
    const char *executable; /* NULL: any; "": only those of all executables */
} hpcb_profile_filter_t;

bool hpcb_profile_matches(const hpcb_profile_t *profile,
                          const hpcb_profile_filter_t *filter);

/* Drop what matches; returns how many. */
size_t hpcb_profiles_forget(hpcb_profiles_t *store,
                            const hpcb_profile_filter_t *filter);

/* A name as it stands in the file, and in records of jobs: bytes that are not printable
 * ASCII, and '%', as %XX.  Returns buf. */
char *hpcb_profile_encode(const char *name, char buf[static HPCB_PROFILE_ENCODED_MAX]);

/* The reverse.  -1 where text is no name in that form, or too long. */
int hpcb_profile_decode(const char *text, char name[static HPCB_PROFILE_NAME_MAX]);

/* The content of a file, length bytes and a NUL behind them.  NULL with err (errno
 * EINVAL) where it is not a store of this version, whole and within its bounds. */
hpcb_profiles_t *hpcb_profiles_parse(const char *text, size_t length,
                                     hpcb_error_t *err);

/* The reverse, at most HPCB_PROFILES_BYTES: as many entries are dropped (the oldest) as
 * that takes.  The caller frees it; NULL with err when memory runs out. */
char *hpcb_profiles_render(hpcb_profiles_t *store, size_t *length, hpcb_error_t *err);

/* Read the file at path, which must be trusted (common/file.h).  NULL with err and
 * errno: ENOENT where there is none, EPERM not trusted, EINVAL damaged, EFBIG. */
hpcb_profiles_t *hpcb_profiles_load(const char *path, hpcb_error_t *err);

/*
 * Change the file at path, with other writers kept out: load it (empty where there is
 * none), have change work on it, and replace it.  Waits at most 5 s for another writer.
 * The directory is made where it is missing.  0, or -1 with err and the file as it was;
 * change returning -1 (with err) ends it.
 */
int hpcb_profiles_update(const char *path,
                         int (*change)(hpcb_profiles_t *store, void *arg,
                                       hpcb_error_t *err),
                         void *arg, hpcb_error_t *err);

#endif
