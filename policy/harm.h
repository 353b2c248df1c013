/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What guests cost a primary, by experiment: for a short while in each period all
 * guests next to it stop, on all of its nodes at once, and its progress during that
 * time is compared with its progress immediately before and after.
 *
 * When they stop is a function of the job's id and of the wall clock, so that every
 * node knows it without a message, and random within the period, so that a primary with
 * a rhythm of its own does not meet it at the same point each time.
 *
 * One comparison says little: a primary's phases change its progress by far more than
 * guests do.  Neighbouring times are alike, so the difference within a comparison is
 * taken, not that of two long means, and what comparisons scatter among themselves
 * gives the interval (Student's t over the comparisons).  A comparison across a change
 * of phase is an outlier: those beyond fences around the inner comparisons (Tukey,
 * 1977) count as if they lay there.
 */
#ifndef HPCB_POLICY_HARM_H
#define HPCB_POLICY_HARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Comparisons that an estimate rests on; the oldest one makes room for a new one. */
#define HPCB_HARM_COMPARISONS 512

/* An estimate needs as many. */
#define HPCB_HARM_COMPARISONS_MIN 8

/*
 * Nanoseconds.  Guests stop once in each period, for off_ns.  A time of comparison of
 * compare_ns lies before and another one after the stop, within the period.  They cost
 * guests nothing, so they may be longer than the stop: guests take whole ticks, and how
 * many of these fall into a short time is mostly chance.
 */
typedef struct {
    int64_t period_ns;
    int64_t off_ns;
    int64_t compare_ns;
} hpcb_harm_plan_t;

/* When guests are to be stopped, CLOCK_REALTIME in ns since 1970: from `from` to
 * before `to`. */
typedef struct {
    int64_t from_ns;
    int64_t to_ns;
} hpcb_harm_stop_t;

/* All zero: no comparison yet.  Owned by the caller. */
typedef struct {
    double cost[HPCB_HARM_COMPARISONS]; /* logarithms of ratios */
    size_t count;                       /* of comparisons ever */
} hpcb_harm_t;

/* Parts of a primary's run time: 0.01 is 1 % longer because of guests.  The true value
 * is between low and high in 95 of 100 cases. */
typedef struct {
    double cost;
    double low;
    double high;
    size_t comparisons;
} hpcb_harm_estimate_t;

bool hpcb_harm_plan_good(const hpcb_harm_plan_t *plan);

/* The stop of the period that now_ns (>= 0) is in.  plan must be good. */
hpcb_harm_stop_t hpcb_harm_stop(const hpcb_harm_plan_t *plan, uint32_t job_id,
                                int64_t now_ns);

/*
 * Take in one comparison: the primary's progress (iterations, instructions: any measure
 * of work) per second with guests, in the mean of before and after, and without them.
 * Return false, and ignore it, unless both are positive and finite.
 */
bool hpcb_harm_add(hpcb_harm_t *harm, double rate_with, double rate_without);

/* Return false if there are too few comparisons; then *out is untouched. */
bool hpcb_harm_estimate(const hpcb_harm_t *harm, hpcb_harm_estimate_t *out);

#endif
