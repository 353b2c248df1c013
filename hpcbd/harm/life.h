/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Cost of guests for a primary in its whole time on this node, for its record: the
 * comparisons of about ten minutes become one figure with the weight of the time with
 * guests that it covers (hpcb_harm_life_t).  Times without guests, or with stopped
 * ones, count as no cost.
 */
#ifndef HPCB_HPCBD_HARM_LIFE_H
#define HPCB_HPCBD_HARM_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include "common/measured.h"
#include "policy/progress.h"

/* All zero: nothing is known. */
typedef struct {
    hpcb_progress_t part; /* comparisons that are not yet part of a figure */
    double part_s;        /* time with guests since the last figure */
    double with_s;        /* total time with guests */
    int64_t seen_ns;      /* CLOCK_MONOTONIC: end of the time covered so far; 0: none */
    hpcb_harm_life_t sum;
    hpcb_progress_source_t source; /* of the last figure */
} hpcbd_life_t;

/* Add the time until now_ns (CLOCK_MONOTONIC), with or without guests next to it; add
 * an experiment. */
void hpcbd_life_pass(hpcbd_life_t *life, bool guests, int64_t now_ns);

void hpcbd_life_compare(hpcbd_life_t *life,
                        const hpcb_progress_at_t at[HPCB_PROGRESS_READINGS]);

/* Get the cost in the job's first total_s seconds on this node.  before: the result of
 * an earlier daemon.  Return false if there is nothing beyond that. */
bool hpcbd_life_cost(const hpcbd_life_t *life, const hpcb_guest_cost_t *before,
                     double total_s, hpcb_guest_cost_t *cost);

#endif
