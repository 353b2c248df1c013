/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Profile store: resources used by earlier runs of a job, by user, job name and
 * executable.  One JSON file on the controller (hpcbctl(8)), replaced as a whole by one
 * writer at a time, so that a reader finds the old or the new one, also after a crash.
 * Not for slurmstepd, because it needs json-c.
 *
 * Users choose the names, of any bytes except NUL; the file has printable ASCII with
 * %XX for other bytes.  A store is bounded in entries, in entries of one user and in
 * bytes.  The least recently updated entries are dropped first, so that made-up names
 * cannot push out those of others.
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

/* Maximum length of a job's name or executable, including the NUL. */
#define HPCB_PROFILE_NAME_MAX 256
/* The same in the file's format. */
#define HPCB_PROFILE_ENCODED_MAX (3 * (HPCB_PROFILE_NAME_MAX - 1) + 1)

#define HPCB_PROFILE_ONE 1000000 /* all CPUs of a job, all the time */

/*
 * Statistics of one figure over all runs: an exponentially weighted mean, in which the
 * newest run has the weight of a quarter (the first three have equal weights).  The
 * deviation is the mean distance of a run from the mean before it, with the same
 * weights.
 */
typedef struct {
    uint64_t mean, deviation;
    uint32_t count; /* runs; 0: never measured, other members are not set */
} hpcb_profile_figure_t;

typedef enum {
    HPCB_PROFILE_MEM,  /* bytes/s per node, as in policy/fitness.h */
    HPCB_PROFILE_NET,  /* the same */
    HPCB_PROFILE_CPU,  /* of HPCB_PROFILE_ONE */
    HPCB_PROFILE_PEAK, /* bytes: largest memory use of a run on one node */
    /* Variation between phases: the rate that 95 % of a run's quanta do not reach. */
    HPCB_PROFILE_MEM_PEAK,
    HPCB_PROFILE_NET_PEAK,
    HPCB_PROFILE_FIGURES
} hpcb_profile_axis_t;

/* "mem", "net", "cpu", "peak", "mem_peak", "net_peak". */
const char *hpcb_profile_axis_name(hpcb_profile_axis_t axis);

/* Return the largest value of an axis. */
uint64_t hpcb_profile_axis_max(hpcb_profile_axis_t axis);

typedef struct {
    uint32_t uid;
    char name[HPCB_PROFILE_NAME_MAX];       /* of the job, not empty */
    char executable[HPCB_PROFILE_NAME_MAX]; /* argument of sbatch or srun, without
                                               directory; "": all executables of that
                                               name */
} hpcb_profile_key_t;

/* Set a key: executable (NULL: unknown) is reduced to the part after its last '/'.
 * Return 0, or -1 if name is NULL or empty, or either is too long: such jobs have no
 * profile. */
int hpcb_profile_key(uint32_t uid, const char *name, const char *executable,
                     hpcb_profile_key_t *key);

typedef struct {
    hpcb_profile_key_t key;
    hpcb_profile_figure_t figures[HPCB_PROFILE_FIGURES];
    uint64_t updated; /* seconds since the epoch */
    bool fixed;       /* set by an administrator: not changed by runs */
} hpcb_profile_t;

/* One run of a job, or values to set. */
typedef struct {
    bool known[HPCB_PROFILE_FIGURES];
    uint64_t value[HPCB_PROFILE_FIGURES]; /* larger values count as the axis' maximum */
} hpcb_profile_run_t;

typedef struct hpcb_profiles hpcb_profiles_t;

/* Return an empty store, NULL if memory is short. */
hpcb_profiles_t *hpcb_profiles_new(void);
void hpcb_profiles_free(hpcb_profiles_t *store);

/* Entries, sorted by user, name and executable. */
size_t hpcb_profiles_count(const hpcb_profiles_t *store);
const hpcb_profile_t *hpcb_profiles_at(const hpcb_profiles_t *store, size_t index);

/* Return the entry of exactly this key, or NULL. */
const hpcb_profile_t *hpcb_profiles_find(const hpcb_profiles_t *store,
                                         const hpcb_profile_key_t *key);

/* Return the entry of key, otherwise that of all executables of its user and name, or
 * NULL. */
const hpcb_profile_t *hpcb_profiles_look_up(const hpcb_profiles_t *store,
                                            const hpcb_profile_key_t *key);

/* Return whether a figure is useful for the next run: it was measured, and runs differ
 * by less than half of their mean. */
bool hpcb_profile_steady(const hpcb_profile_figure_t *figure);

/* Return the value that 95 of 100 runs do not reach if they differ as earlier runs did:
 * two deviations above the mean.  Return 0 if there were too few runs and no
 * administrator set it. */
#define HPCB_PROFILE_P95_RUNS 3
uint64_t hpcb_profile_p95(const hpcb_profile_t *profile, hpcb_profile_axis_t axis);

/* Add a run to the entry of key and to that of all executables, at now (seconds since
 * the epoch).  A run without any figure changes nothing.  Return 0, or -1 with err if
 * memory is short. */
int hpcb_profiles_learn(hpcb_profiles_t *store, const hpcb_profile_key_t *key,
                        const hpcb_profile_run_t *run, uint64_t now, hpcb_error_t *err);

/* Set the entry of key to exactly these values, fixed. */
int hpcb_profiles_set(hpcb_profiles_t *store, const hpcb_profile_key_t *key,
                      const hpcb_profile_run_t *values, uint64_t now,
                      hpcb_error_t *err);

/* Filter for entries: a part that is not set matches all. */
typedef struct {
    bool by_user;
    uint32_t uid;
    const char *name;       /* NULL: any */
    const char *executable; /* NULL: any; "": only those of all executables */
} hpcb_profile_filter_t;

bool hpcb_profile_matches(const hpcb_profile_t *profile,
                          const hpcb_profile_filter_t *filter);

/* Drop matching entries.  Return their number. */
size_t hpcb_profiles_forget(hpcb_profiles_t *store,
                            const hpcb_profile_filter_t *filter);

/* Encode a name as in the file and in records of jobs: %XX for '%' and for bytes that
 * are not printable ASCII.  Return buf. */
char *hpcb_profile_encode(const char *name, char buf[static HPCB_PROFILE_ENCODED_MAX]);

/* Decode it.  Return -1 if text is no name in that format, or too long. */
int hpcb_profile_decode(const char *text, char name[static HPCB_PROFILE_NAME_MAX]);

/* Parse the content of a file, length bytes and a NUL.  Return NULL with err (errno
 * EINVAL) if it is not a complete store of this version within its bounds. */
hpcb_profiles_t *hpcb_profiles_parse(const char *text, size_t length,
                                     hpcb_error_t *err);

/* Print a store, at most HPCB_PROFILES_BYTES: the oldest entries are dropped as
 * necessary.  The caller frees the text; NULL with err if memory is short. */
char *hpcb_profiles_render(hpcb_profiles_t *store, size_t *length, hpcb_error_t *err);

/* Read the file at path, which must be trusted (common/file.h).  Return NULL with err
 * and errno: ENOENT if there is none, EPERM not trusted, EINVAL damaged, EFBIG. */
hpcb_profiles_t *hpcb_profiles_load(const char *path, hpcb_error_t *err);

/*
 * Change the file at path with other writers locked out: load it (empty if there is
 * none), call change, and replace it.  Waits at most 5 s for another writer.  A missing
 * directory is created.  Return 0, or -1 with err and the file unchanged; change ends
 * the update by returning -1 (with err).
 */
int hpcb_profiles_update(const char *path,
                         int (*change)(hpcb_profiles_t *store, void *arg,
                                       hpcb_error_t *err),
                         void *arg, hpcb_error_t *err);

#endif
