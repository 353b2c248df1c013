/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * SPANK environment of a job in slurmctld: an array of NAME=VALUE texts in which
 * sbatch, srun and salloc send the options of SPANK plugins, and which becomes part of
 * the prolog's environment (with SPANK_ before each name).  All of it is unchecked text
 * of the user; an entry may be NULL.  Pure: nothing here owns or frees an entry.
 */
#ifndef HPCB_JOBSUBMIT_SPANK_ENV_H
#define HPCB_JOBSUBMIT_SPANK_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include "common/error.h"
#include "common/options.h"

/* Maximum number of entries of a job, so that a hostile one cannot keep slurmctld busy;
 * plugins set a few dozen. */
#define HPCB_SPANK_ENV_MAX 4096

/* The prolog's SPANK_HPCB_CLASS; only slurmctld writes it. */
#define HPCB_SPANK_ENV_CLASS "HPCB_CLASS"

/* Also written only by slurmctld, for records: name and executable as in the tag,
 * the time of submission in seconds since the epoch, and "1" for jobs that may be
 * spread. */
#define HPCB_SPANK_ENV_PROGRAM "HPCB_PROGRAM"
#define HPCB_SPANK_ENV_SUBMIT  "HPCB_SUBMIT"
#define HPCB_SPANK_ENV_SPREAD  "HPCB_SPREAD"

/*
 * Parse our options from env into options, initially those of a plain primary, by
 * common/options.  Return 0, or -1 with err and options unchanged for the first invalid
 * one, or one with our prefix that this release does not know.
 */
int hpcb_spank_env_options(char *const *env, size_t count, hpcb_options_t *options,
                           hpcb_error_t *err);

/*
 * Set keep[i] if env[i] may stay.  Removed are: every form of these four; all but the
 * last of several entries with one name; and entries that Slurm's env_array_merge skips
 * (NULL, no name, no '=', name over 255 bytes, value of 256 KiB and more), because
 * slurmctld assumes that the merged array has the same length.  Return the number of
 * entries that stay, or -1 with err (more than HPCB_SPANK_ENV_MAX entries, memory is
 * short); keep is then undefined.
 */
long hpcb_spank_env_sift(char *const *env, size_t count, bool *keep, hpcb_error_t *err);

#endif
