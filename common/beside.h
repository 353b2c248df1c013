/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests that were on the same node as a primary, and their CPU time meanwhile:
 * StateDir/jobs/<primary>.beside, one line per reading of a guest's CPU time.  A
 * reading is taken of each guest that is there when the primary begins, by each guest
 * that ends, and of each guest that is still there when the primary ends.  Only root
 * reads it.  libc only.
 */
#ifndef HPCB_COMMON_BESIDE_H
#define HPCB_COMMON_BESIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/error.h"

/* With more guests next to one primary on a node the result is unknown. */
#define HPCB_BESIDE_MAX 1024

typedef struct {
    uint32_t guest;
    uint64_t begin_us; /* begin of the guest's run on the node, as in its record */
    uint64_t cpu_us;   /* CPU time that it has used there so far */
    bool before;       /* read at the begin of the primary */
} hpcb_beside_reading_t;

typedef struct {
    bool known;
    uint64_t cpu_us;
    size_t count;
    uint32_t *guests; /* their job IDs, each once, ascending; free() */
} hpcb_beside_t;

/* Begin: readings are accepted from now on.  Return 0, or -1 with err. */
int hpcb_beside_open(const char *state_dir, uint32_t primary, hpcb_error_t *err);

/* Append a reading.  Return 0, or -1 with err; 0 also if the primary has not begun or
 * has ended, or if the file is full, which hpcb_beside_sum detects. */
int hpcb_beside_note(const char *state_dir, uint32_t primary,
                     const hpcb_beside_reading_t *reading, hpcb_error_t *err);

/*
 * Sum up the readings in the file and in now (of guests that are there at this moment,
 * taken BEFORE the call, because a guest appends its last reading before it
 * disappears).  begin_us is the primary's.  The result is unknown if there were too
 * many guests, and without hpcb_beside_open.  Return 0, or -1 with err and beside
 * unchanged.
 */
int hpcb_beside_sum(const char *state_dir, uint32_t primary, uint64_t begin_us,
                    const hpcb_beside_reading_t *now, size_t count,
                    hpcb_beside_t *beside, hpcb_error_t *err);

#endif
