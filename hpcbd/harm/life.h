/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What guests cost a primary in its whole time on this node, for its record: the
 * comparisons of some ten minutes become one figure, which counts for the time with
 * guests that it was measured in (hpcb_harm_life_t).  Times without guests, and those
 * in which they were stopped, count as no cost.
 */
#ifndef HPCB_HPCBD_HARM_LIFE_H
#define HPCB_HPCBD_HARM_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include "common/measured.h"
#include "policy/progress.h"

/* All zero: nothing is known. */
typedef struct {
    hpcb_progress_t part; /* comparisons that are no figure yet */
    double part_s;        /* the time with guests since the last figure */
    double with_s;        /* all time with guests */
    int64_t seen_ns;      /* CLOCK_MONOTONIC: up to where that is; 0: nothing is */
    hpcb_harm_life_t sum;
    hpcb_progress_source_t source; /* of the last figure */
} hpcbd_life_t;

/* Until now_ns (CLOCK_MONOTONIC) guests ran next to it, or not. */
void hpcbd_life_pass(hpcbd_life_t *life, bool guests, int64_t now_ns);

void hpcbd_life_compare(hpcbd_life_t *life,
                        const hpcb_progress_at_t at[HPCB_PROGRESS_READINGS]);

/* What is known of the job's first total_s seconds here.  before: what a daemon before
 * this one has found.  Return false if that is no more than before. */
bool hpcbd_life_cost(const hpcbd_life_t *life, const hpcb_guest_cost_t *before,
                     double total_s, hpcb_guest_cost_t *cost);

#endif
