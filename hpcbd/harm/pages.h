/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Iterations of a job's ranks, from their status pages (common/page.h).  The user owns
 * the pages and can write any number.
 */
#ifndef HPCB_HPCBD_HARM_PAGES_H
#define HPCB_HPCBD_HARM_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include "hpcbd/node/registry.h"

/* Maximum number of ranks that are read, evenly distributed, so that a reading is
 * short. */
#define HPCBD_PAGES_MAX 64

/* All zero: none are open. */
typedef struct {
    unsigned n;
    int fd[HPCBD_PAGES_MAX];
} hpcbd_pages_t;

/* Open the pages of the job's step.  Open none if there are no pages, if one of them
 * belongs to another user, or if several steps have pages. */
void hpcbd_pages_open(hpcbd_pages_t *pages, const char *state_dir,
                      const hpcbd_job_t *job);
void hpcbd_pages_close(hpcbd_pages_t *pages);

/* Compute the mean of the ranks at now_ns (CLOCK_MONOTONIC).  Return false if no page
 * is open, or if one of them has no plausible value. */
bool hpcbd_pages_read(const hpcbd_pages_t *pages, uint64_t now_ns, double *iterations);

#endif
