/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Rates of a counter that is sampled once per quantum: a job's demand for bandwidth
 * (paper 002, section 4).  The demand at one moment is the mean over the preceding w
 * quanta.  The demand of a job is the 95th percentile of these, so that a phase counts
 * and a single burst does not.
 *
 * A missed sample (the daemon was busy or not running) loses no bytes: the longer
 * interval counts once for each of its quanta.  If the counter went back, it has
 * started anew, and the value of that interval is unknown.
 *
 * Pure: no clock, no I/O, no allocation.
 */
#ifndef HPCB_POLICY_RATE_H
#define HPCB_POLICY_RATE_H

#include <stdint.h>

#define HPCB_RATE_QUANTUM_US 500000 /* q of the paper: 0.5 s */
#define HPCB_RATE_WINDOW     2      /* w of the paper, in quanta */
#define HPCB_RATE_WINDOW_MAX 16

/* Quantiles are computed from bins: each octave of bytes per second has 64 equal ones,
 * so a quantile is off by 0.8 % at most. */
#define HPCB_RATE_CUT_BITS 6
#define HPCB_RATE_BINS     ((65 - HPCB_RATE_CUT_BITS) << HPCB_RATE_CUT_BITS)

typedef struct {
    uint64_t time_us;
    uint64_t total; /* bytes since the first sample */
} hpcb_rate_point_t;

/* Members are private. */
typedef struct {
    unsigned window, bits;
    uint64_t quantum_us;
    uint64_t value;      /* of the counter at the last sample */
    uint64_t total;      /* bytes in covered_us */
    uint64_t covered_us; /* time for which the counter is known */
    unsigned points;     /* number of entries of last, newest at the end */
    hpcb_rate_point_t last[HPCB_RATE_WINDOW_MAX + 1];
    uint64_t weight; /* sum of bin */
    uint32_t bin[HPCB_RATE_BINS];
} hpcb_rate_t;

/* Initialize.  window: 1 to HPCB_RATE_WINDOW_MAX quanta of quantum_us (> 0).  bits:
 * width of the counter, 1 to 64; a counter of less than 64 bits may wrap once between
 * two samples. */
void hpcb_rate_init(hpcb_rate_t *rate, unsigned window, uint64_t quantum_us,
                    unsigned bits);

/* Add a sample: the counter is value at time_us (any origin).  A sample that is not
 * later than the last one is ignored. */
void hpcb_rate_add(hpcb_rate_t *rate, uint64_t time_us, uint64_t value);

/* Declare the counter unknown until the next sample. */
void hpcb_rate_break(hpcb_rate_t *rate);

/* Return the number of bytes counted so far. */
uint64_t hpcb_rate_total(const hpcb_rate_t *rate);

/* Get bytes per second over all time for which the counter is known.  Return 0, or -1
 * with value unchanged if there is none. */
int hpcb_rate_mean(const hpcb_rate_t *rate, double *value);

/* Get the rate over a window, in bytes per second, that percent (1 to 100) of all
 * windows do not exceed; the mean for a job shorter than one window.  Return 0, or -1
 * with value unchanged if nothing is known. */
int hpcb_rate_quantile(const hpcb_rate_t *rate, unsigned percent, double *value);

#endif
