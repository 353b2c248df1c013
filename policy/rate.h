/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Rates of a counter that is sampled once a quantum: what a job's demand for bandwidth
 * is (paper 002, section 4).  The demand at a moment is the mean over the w quanta
 * before it; the demand of a job is the 95th percentile of that, so that one burst does
 * not decide and a phase does.
 *
 * A sample that was missed (the daemon was busy or away) loses no bytes: the longer
 * interval counts as many times as it has quanta.  A counter that went back has begun
 * anew, and what it counted in that interval is not known.
 *
 * Pure: no clock, no I/O, no allocation.
 */
#ifndef HPCB_POLICY_RATE_H
#define HPCB_POLICY_RATE_H

#include <stdint.h>

#define HPCB_RATE_QUANTUM_US 500000 /* q of the paper: 0.5 s */
#define HPCB_RATE_WINDOW     2      /* w of the paper, in quanta */
#define HPCB_RATE_WINDOW_MAX 16

/* Quantiles come from bins: each octave of bytes per second is cut into 64 equal ones,
 * so a quantile is off by 0.8 % at most. */
#define HPCB_RATE_CUT_BITS 6
#define HPCB_RATE_BINS     ((65 - HPCB_RATE_CUT_BITS) << HPCB_RATE_CUT_BITS)

typedef struct {
    uint64_t time_us;
    uint64_t total; /* bytes since the first sample */
} hpcb_rate_point_t;

/* Members are the functions' own. */
typedef struct {
    unsigned window, bits;
    uint64_t quantum_us;
    uint64_t value;      /* of the counter, last time */
    uint64_t total;      /* bytes in covered time */
    uint64_t covered_us; /* time in which the counter is known */
    unsigned points;     /* in last, the newest at the end */
    hpcb_rate_point_t last[HPCB_RATE_WINDOW_MAX + 1];
    uint64_t weight; /* sum of bin */
    uint32_t bin[HPCB_RATE_BINS];
} hpcb_rate_t;

/* window: 1 to HPCB_RATE_WINDOW_MAX quanta of quantum_us (above 0).  bits: width of the
 * counter, 1 to 64; a narrower one than 64 wraps at most once between two samples. */
void hpcb_rate_init(hpcb_rate_t *rate, unsigned window, uint64_t quantum_us,
                    unsigned bits);

/* The counter is value at time_us (any origin).  A time that is not later than the last
 * one is ignored. */
void hpcb_rate_add(hpcb_rate_t *rate, uint64_t time_us, uint64_t value);

/* The counter is not known until the next sample. */
void hpcb_rate_break(hpcb_rate_t *rate);

/* Bytes counted so far. */
uint64_t hpcb_rate_total(const hpcb_rate_t *rate);

/* Bytes per second over all time in which the counter was known.  0, or -1 and value
 * untouched if there was none. */
int hpcb_rate_mean(const hpcb_rate_t *rate, double *value);

/* The rate over a window that percent (1 to 100) of all windows did not exceed, bytes
 * per second; the mean for a job that was shorter than one window.  -1 and value
 * untouched if nothing is known. */
int hpcb_rate_quantile(const hpcb_rate_t *rate, unsigned percent, double *value);

#endif
