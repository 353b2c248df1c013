/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Which programs the guests of a group run (hpcbd/harm/guarded.h), so that what was
 * found of an array's tasks stays known from one task to the next.
 */
#ifndef HPCB_HPCBD_HARM_REGULARS_H
#define HPCB_HPCBD_HARM_REGULARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hpcbd/node/registry.h"

/* Of larger groups some guest is always there. */
#define HPCBD_REGULARS_MAX 16

/* All zero: nobody was there yet. */
typedef struct {
    uint64_t programs[HPCBD_REGULARS_MAX]; /* 0: not known */
    size_t count;
    uint64_t seen_ns; /* when they were there last */
} hpcbd_regulars_t;

/*
 * The group's guests at now_ns (CLOCK_MONOTONIC); same: some were there the last time.
 * Return whether what was found of the group is about these guests: if some were there,
 * or if it was empty for a short time at most and all that have come run programs that
 * ran in it before, or if nobody has come yet.
 */
bool hpcbd_regulars_stay(hpcbd_regulars_t *regulars, const hpcbd_job_t *const *guests,
                         size_t count, bool same, uint64_t now_ns);

#endif
