/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Which guests were on the node beside a primary, and what they used meanwhile:
 * StateDir/jobs/<primary>.beside, a line a reading of a guest's CPU time.  One is taken
 * of each guest that is there when the primary begins, one by each guest that ends, and
 * one of each guest that is still there when the primary ends.  Only root reads it.
 * libc only.
 */
#ifndef HPCB_COMMON_BESIDE_H
#define HPCB_COMMON_BESIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/error.h"

/* Of more guests beside one primary on a node nothing is known. */
#define HPCB_BESIDE_MAX 1024

typedef struct {
    uint32_t guest;
    uint64_t begin_us; /* of the guest's run on the node: its record's */
    uint64_t cpu_us;   /* that it has used there so far */
    bool before;       /* read when the primary began */
} hpcb_beside_reading_t;

typedef struct {
    bool known;
    uint64_t cpu_us;
    size_t count;
    uint32_t *guests; /* their job ids, each once, ascending; free() */
} hpcb_beside_t;

/* The primary begins: readings are taken from now on.  0 or -1 with err. */
int hpcb_beside_open(const char *state_dir, uint32_t primary, hpcb_error_t *err);

/* Append a reading.  0 or -1 with err; 0 also where the primary has not begun or is
 * gone, and where the file is full, which _sum sees. */
int hpcb_beside_note(const char *state_dir, uint32_t primary,
                     const hpcb_beside_reading_t *reading, hpcb_error_t *err);

/*
 * Sum up what has been noted, and now (of guests that are there at this moment, taken
 * BEFORE the call: a guest notes its end before it disappears).  begin_us is the
 * primary's.  Not known where there were too many, and without _open.  0, or -1 with
 * err and beside untouched.
 */
int hpcb_beside_sum(const char *state_dir, uint32_t primary, uint64_t begin_us,
                    const hpcb_beside_reading_t *now, size_t count,
                    hpcb_beside_t *beside, hpcb_error_t *err);

#endif
