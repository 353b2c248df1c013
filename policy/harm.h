/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What guests cost a primary, by experiment: for a short while in each period all
 * guests next to it stop, on all nodes at once, and its progress during that time is
 * compared with its progress in a second immediately before and in one some time after.
 *
 * When they stop is a function of the wall clock and of a seed that all nodes share, so
 * that every node knows it without a message.  It is random within the period, so that
 * a primary with a rhythm of its own does not meet it at the same point each time.  A
 * guest that knew it could hide what it costs, by sleeping in the times of comparison:
 * the seed includes a secret.  A guest does notice when it is stopped.  That does not
 * tell it when the time of comparison after the stop is, because that is at a random
 * distance from it.
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
#include "policy/siphash.h"

/* Maximum number of comparisons in an estimate; a new one replaces the oldest. */
#define HPCB_HARM_COMPARISONS 512

/* Minimum number of comparisons in an estimate. */
#define HPCB_HARM_COMPARISONS_MIN 8

/*
 * Nanoseconds.  Guests stop once in each period, for off_ns.  The first settle_ns of it
 * are not compared: tasks of guests run on until they notice, and the CPU time that the
 * daemon takes to stop them delays the primary.  A time of comparison of compare_ns
 * lies immediately before the stop, another one up to gap_ns after it; all of that is
 * within the period.  They cost guests nothing, so they may be longer than
 * the stop: guests take whole ticks, and how many of these fall into a short time is
 * mostly chance.
 */
typedef struct {
    int64_t period_ns;
    int64_t off_ns;
    int64_t settle_ns;
    int64_t compare_ns;
    int64_t gap_ns;
} hpcb_harm_plan_t;

/* Key derived from a secret. */
typedef struct {
    hpcb_siphash_key_t key;
} hpcb_harm_seed_t;

/* Times of one experiment, ascending, CLOCK_REALTIME in ns since 1970. */
typedef struct {
    uint64_t number;    /* of its period */
    int64_t before_ns;  /* begin of the first time of comparison, until the stop */
    int64_t from_ns;    /* begin of the stop */
    int64_t settled_ns; /* begin of the time without guests */
    int64_t to_ns;      /* end of the stop */
    int64_t again_ns;   /* begin of the second time of comparison */
    int64_t after_ns;
} hpcb_harm_stop_t;

/* All zero: no comparison yet.  Owned by the caller. */
typedef struct {
    double cost[HPCB_HARM_COMPARISONS]; /* logarithms of ratios */
    size_t count;                       /* number of comparisons ever made */
} hpcb_harm_t;

/* Parts of a primary's run time: 0.01 means 1 % longer because of guests.  The true
 * value is between low and high in 95 of 100 cases. */
typedef struct {
    double cost;
    double low;
    double high;
    size_t comparisons;
} hpcb_harm_estimate_t;

bool hpcb_harm_plan_good(const hpcb_harm_plan_t *plan);

/* Return the seed, the same on all nodes that have the same secret.  With length 0
 * anybody can compute it. */
hpcb_harm_seed_t hpcb_harm_seed(const void *secret, size_t length);

/* Return the experiment of the period that contains now_ns (>= 0).  plan must be
 * good. */
hpcb_harm_stop_t hpcb_harm_stop(const hpcb_harm_plan_t *plan,
                                const hpcb_harm_seed_t *seed, int64_t now_ns);

/*
 * Return the rate (work per second) of the primary if guests had run in the middle of
 * the stop: the straight line through the rates in the middle of both times of
 * comparison. Times have any one unit.  A primary that becomes slower or faster at a
 * steady rate so causes no error, wherever the second time lies; by the mean of both,
 * half of what it loses between them would count as harm.  For a rate that wanders at
 * random the line is the best guess, too.  A second time that is far away has little
 * weight, so that a guest that sleeps after each stop hides little.
 */
double hpcb_harm_between(double before, double before_at, double after, double after_at,
                         double at);

/*
 * Take in one comparison: the primary's progress (iterations, instructions: any measure
 * of work) per second with guests (hpcb_harm_between), and without them.
 * Return false, and ignore it, unless both are positive and finite.
 */
bool hpcb_harm_add(hpcb_harm_t *harm, double rate_with, double rate_without);

/* Get the estimate.  Return false, with *out unchanged, if there are too few
 * comparisons. */
bool hpcb_harm_estimate(const hpcb_harm_t *harm, hpcb_harm_estimate_t *out);

/* Sums over the whole life of a primary, of constant size.  All zero: nothing yet.
 * Owned by the caller. */
typedef struct {
    double known_s;  /* time next to guests with an estimate */
    double cost_s;   /* cost times time */
    double square_s; /* of half of the interval times time */
    size_t comparisons;
} hpcb_harm_life_t;

/* Add a part of the primary's life.  Parts do not overlap, so their errors are
 * independent. */
void hpcb_harm_live(hpcb_harm_life_t *life, const hpcb_harm_estimate_t *part,
                    double seconds);

/*
 * Get the mean over total_s, with guests during with_s of it.  Time with guests but
 * without an estimate has the mean cost; time without guests has none.  Return false,
 * with *out unchanged, if nothing is known.
 */
bool hpcb_harm_of_life(const hpcb_harm_life_t *life, double with_s, double total_s,
                       hpcb_harm_estimate_t *out);

#endif
