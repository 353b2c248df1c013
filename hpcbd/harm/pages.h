/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Where the ranks of a job are in their iterations, by the pages that they write
 * (common/page.h).  All of it is what the user claims.
 */
#ifndef HPCB_HPCBD_HARM_PAGES_H
#define HPCB_HPCBD_HARM_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include "hpcbd/node/registry.h"

/* Of more ranks these many are read, spread evenly: a reading is at an edge of an
 * experiment, which must not come late. */
#define HPCBD_PAGES_MAX 64

/* All zero: none are open. */
typedef struct {
    unsigned n;
    int fd[HPCBD_PAGES_MAX];
} hpcbd_pages_t;

/* Open those of the job's step.  None if it has no pages, if one of them is not its
 * user's, or if several steps have some: which of them is its progress nobody knows. */
void hpcbd_pages_open(hpcbd_pages_t *pages, const char *state_dir,
                      const hpcbd_job_t *job);
void hpcbd_pages_close(hpcbd_pages_t *pages);

/* Mean of the ranks at now_ns (CLOCK_MONOTONIC).  Return false if there is a rank that
 * says nothing, or nothing that can be. */
bool hpcbd_pages_read(const hpcbd_pages_t *pages, uint64_t now_ns, double *iterations);

#endif
