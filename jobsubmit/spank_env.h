/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A job's SPANK environment as slurmctld holds it: an array of NAME=VALUE texts in
 * which sbatch, srun and salloc send the options of SPANK plugins, and which becomes
 * part of the prolog's environment (with SPANK_ before each name).  All of it is raw
 * text of the user; an entry may be NULL.  Pure: nothing here owns or frees an entry.
 */
#ifndef HPCB_JOBSUBMIT_SPANK_ENV_H
#define HPCB_JOBSUBMIT_SPANK_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include "common/error.h"
#include "common/options.h"

/* A job with more entries is refused, so that a hostile one cannot keep slurmctld
 * busy; plugins set a few tens. */
#define HPCB_SPANK_ENV_MAX 4096

/* What the prolog finds as SPANK_HPCB_CLASS; slurmctld is its only writer. */
#define HPCB_SPANK_ENV_CLASS "HPCB_CLASS"

/* Likewise, for records only: name and executable as in the tag, the time of
 * submission in seconds since the epoch, and "1" for who may be spread. */
#define HPCB_SPANK_ENV_PROGRAM "HPCB_PROGRAM"
#define HPCB_SPANK_ENV_SUBMIT  "HPCB_SUBMIT"
#define HPCB_SPANK_ENV_SPREAD  "HPCB_SPREAD"

/*
 * Parse our own options out of env into options, which starts as a plain primary's.
 * Each is parsed and checked by common/options.  -1 with err for the first bad one,
 * or for one under our name that this release does not know; options is then
 * untouched.
 */
int hpcb_spank_env_options(char *const *env, size_t count, hpcb_options_t *options,
                           hpcb_error_t *err);

/*
 * Set keep[i] where env[i] may stay.  Dropped are: every form of these four; all but
 * the last of several entries of one name; and what Slurm's env_array_merge passes
 * over (NULL, no name, no '=', name over 255 bytes, value of 256 KiB and more), because
 * slurmctld takes the merged array to be as long as this one.
 * Returns how many stay, or -1 with err (more than HPCB_SPANK_ENV_MAX entries, out of
 * memory); keep is then undefined.
 */
long hpcb_spank_env_sift(char *const *env, size_t count, bool *keep, hpcb_error_t *err);

#endif
