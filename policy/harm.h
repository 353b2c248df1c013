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

/* Comparisons that an estimate rests on; the oldest one makes room for a new one. */
#define HPCB_HARM_COMPARISONS 512

/* An estimate needs as many. */
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

/* What a secret has been made of. */
typedef struct {
    hpcb_siphash_key_t key;
} hpcb_harm_seed_t;

/* The edges of one experiment, in ascending order; CLOCK_REALTIME in ns since 1970. */
typedef struct {
    uint64_t number;    /* of its period */
    int64_t before_ns;  /* the first time of comparison begins; it ends with the stop */
    int64_t from_ns;    /* guests are stopped from here */
    int64_t settled_ns; /* the time without guests begins */
    int64_t to_ns;      /* guests are stopped to here */
    int64_t again_ns;   /* the second time of comparison */
    int64_t after_ns;
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

/* The same on all nodes that have the same secret; with length 0 anybody knows it. */
hpcb_harm_seed_t hpcb_harm_seed(const void *secret, size_t length);

/* The experiment of the period that now_ns (>= 0) is in.  plan must be good. */
hpcb_harm_stop_t hpcb_harm_stop(const hpcb_harm_plan_t *plan,
                                const hpcb_harm_seed_t *seed, int64_t now_ns);

/*
 * What the rate (of work per second) would have been at the middle of the stop with
 * guests, by the straight line through what it was in the middle of both times of
 * comparison.  Times are in any one unit.  A primary that becomes slower or faster
 * steadily is so no reason for harm, or against it, wherever the second time lies: with
 * the mean of both, what it loses in half of their distance would count as harm.  Where
 * the rate wanders at random the line is the best guess, too.  If the second time is
 * far it has little weight, so that a guest that sleeps after each stop hides little.
 */
double hpcb_harm_between(double before, double before_at, double after, double after_at,
                         double at);

/*
 * Take in one comparison: the primary's progress (iterations, instructions: any measure
 * of work) per second with guests (hpcb_harm_between), and without them.
 * Return false, and ignore it, unless both are positive and finite.
 */
bool hpcb_harm_add(hpcb_harm_t *harm, double rate_with, double rate_without);

/* Return false if there are too few comparisons; then *out is untouched. */
bool hpcb_harm_estimate(const hpcb_harm_t *harm, hpcb_harm_estimate_t *out);

/* Of a primary's whole life, as sums, so that its length does not matter.  All zero:
 * nothing yet.  Owned by the caller. */
typedef struct {
    double known_s;  /* of its time next to guests, with an estimate */
    double cost_s;   /* cost times time */
    double square_s; /* of half of the interval times time */
    size_t comparisons;
} hpcb_harm_life_t;

/* So it was for that long.  Parts do not overlap: their errors are independent. */
void hpcb_harm_live(hpcb_harm_life_t *life, const hpcb_harm_estimate_t *part,
                    double seconds);

/*
 * The mean over total_s, for with_s of which guests were there.  Where these were but
 * there is no estimate, they cost what they cost on average; where they were not they
 * cost nothing.  Return false, with *out untouched, if nothing is known.
 */
bool hpcb_harm_of_life(const hpcb_harm_life_t *life, double with_s, double total_s,
                       hpcb_harm_estimate_t *out);

#endif
