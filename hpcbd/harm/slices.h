/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Long time slices for the tasks of a primary that guests harm (cgroup/slices.h): the
 * guard's first step, which costs guests nothing.
 */
#ifndef HPCB_HPCBD_HARM_SLICES_H
#define HPCB_HPCBD_HARM_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include "hpcbd/hpcbd.h"

typedef struct {
    size_t jobs;    /* that have long slices now */
    uint64_t given; /* number of times that a job got them */
} hpcbd_slices_stats_t;

extern const hpcbd_part_t hpcbd_slices;

/* Return true if this node's kernel supports slices. */
bool hpcbd_slices_possible(void);

/* Set whether the job, a primary of this node, has long slices from now on.  Its new
 * tasks get them within a second; the setting ends with the job. */
void hpcbd_slices_set(uint32_t job_id, bool wanted);

/* End them for all jobs. */
void hpcbd_slices_end(void);

const hpcbd_slices_stats_t *hpcbd_slices_stats(void);

#endif
