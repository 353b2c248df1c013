/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Random numbers that are the same on every machine and compiler: a number is a
 * function of seed, stream and count alone, so that streams (one per node) can be used
 * in any order.  Integers where possible; the logarithm only uses additions,
 * multiplications and divisions, which IEEE 754 rounds uniquely (sim/ is built without
 * contraction).
 */
#ifndef HPCB_SIM_RANDOM_H
#define HPCB_SIM_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t key;
    uint64_t count; /* numbers drawn so far */
} hpcb_sim_stream_t;

/* Streams of different seeds or numbers are independent. */
hpcb_sim_stream_t hpcb_sim_stream(uint64_t seed, uint64_t number);

/* Return the next 64 bits. */
uint64_t hpcb_sim_bits(hpcb_sim_stream_t *stream);

/* Return a uniform integer of [0, below); 0 if below is 0. */
uint64_t hpcb_sim_below(hpcb_sim_stream_t *stream, uint64_t below);

/* Return a number above 0 and at most 1. */
double hpcb_sim_fraction(hpcb_sim_stream_t *stream);

/* Return the natural logarithm of x > 0, finite, to about 1e-15. */
double hpcb_sim_ln(double x);

typedef enum {
    HPCB_SIM_CONSTANT,    /* a */
    HPCB_SIM_UNIFORM,     /* a to b, inclusive */
    HPCB_SIM_EXPONENTIAL, /* mean a, at most 37 a */
    HPCB_SIM_TRACE        /* uniformly one of the recorded values */
} hpcb_sim_kind_t;

/* A distribution of durations in nanoseconds. */
typedef struct {
    hpcb_sim_kind_t kind;
    int64_t a, b;
    int64_t *trace; /* n of them, owned by the distribution */
    size_t n;
} hpcb_sim_dist_t;

int64_t hpcb_sim_draw(const hpcb_sim_dist_t *dist, hpcb_sim_stream_t *stream);

/* Return the upper bound of all draws; of an exponential one, its mean. */
int64_t hpcb_sim_dist_most(const hpcb_sim_dist_t *dist);

void hpcb_sim_dist_free(hpcb_sim_dist_t *dist);

#endif
