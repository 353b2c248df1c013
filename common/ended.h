/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Reason why hpcbd has ended a guest on this node: a word in
 * StateDir/jobs/<jobid>.ended, for the job's record.
 */
#ifndef HPCB_COMMON_ENDED_H
#define HPCB_COMMON_ENDED_H

#include <stdint.h>
#include "common/error.h"

#define HPCB_ENDED_MAX 16 /* a word of lower-case letters, including the NUL */

/* A primary needed its memory. */
#define HPCB_ENDED_MEMORY "memory"

/* It was requeued: it slowed down a primary, or primaries left it no CPU time. */
#define HPCB_ENDED_HARM    "harm"
#define HPCB_ENDED_STARVED "starved"
/* It had too many groups of tasks to be stopped as a whole. */
#define HPCB_ENDED_LARGE "large"

/* Return 0, or -1 with errno and err (ENOENT: the job has no record or has ended
 * meanwhile, and no file remains).  why "": no reason applies any more. */
int hpcb_ended_save(const char *state_dir, uint32_t job_id, const char *why,
                    hpcb_error_t *err);

/* Get the reason; "" for a job that hpcbd has not ended. */
void hpcb_ended_load(const char *state_dir, uint32_t job_id, char why[HPCB_ENDED_MAX]);

/* Remove files of jobs without a record, at most max of them, because a requeued job
 * has the same ID.  Return the number of removed files. */
unsigned hpcb_ended_sweep(const char *state_dir, unsigned max);

#endif
