/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Programs of the guests of a group (hpcbd/harm/guarded.h), so that results for an
 * array's tasks stay valid from one task to the next.
 */
#ifndef HPCB_HPCBD_HARM_REGULARS_H
#define HPCB_HPCBD_HARM_REGULARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hpcbd/node/registry.h"

/* In larger groups there is always a guest. */
#define HPCBD_REGULARS_MAX 16

/* All zero: there were no guests yet. */
typedef struct {
    uint64_t programs[HPCBD_REGULARS_MAX]; /* 0: not known */
    size_t count;
    uint64_t seen_ns; /* last time when they were there */
} hpcbd_regulars_t;

/*
 * Set the group's guests at now_ns (CLOCK_MONOTONIC); same: some were there the last
 * time.  Return whether the results for the group apply to these guests: if some were
 * there the last time; or if the group was empty for a short time at most, and all new
 * ones run programs that ran in it before, or there are no new ones yet.
 */
bool hpcbd_regulars_stay(hpcbd_regulars_t *regulars, const hpcbd_job_t *const *guests,
                         size_t count, bool same, uint64_t now_ns);

#endif
