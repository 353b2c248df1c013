/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Chance that is the same on every machine and compiler: a number is a function of
 * seed, stream and count alone, so that streams (one a node) can be asked in any order.
 * Integers where it can be; the logarithm is made of additions, multiplications and
 * divisions only, which IEEE 754 rounds in one way (sim/ is built without contraction).
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

/* The next 64 bits. */
uint64_t hpcb_sim_bits(hpcb_sim_stream_t *stream);

/* An integer of [0, below), each as likely; 0 if below is 0. */
uint64_t hpcb_sim_below(hpcb_sim_stream_t *stream, uint64_t below);

/* A number above 0 and at most 1. */
double hpcb_sim_fraction(hpcb_sim_stream_t *stream);

/* The natural logarithm of x > 0, finite, to about 1e-15. */
double hpcb_sim_ln(double x);

typedef enum {
    HPCB_SIM_CONSTANT,    /* a */
    HPCB_SIM_UNIFORM,     /* a to b, both may be drawn */
    HPCB_SIM_EXPONENTIAL, /* mean a, at most 37 a */
    HPCB_SIM_TRACE        /* one of the recorded values, each as likely */
} hpcb_sim_kind_t;

/* A distribution of durations in nanoseconds. */
typedef struct {
    hpcb_sim_kind_t kind;
    int64_t a, b;
    int64_t *trace; /* n of them, the distribution's own */
    size_t n;
} hpcb_sim_dist_t;

int64_t hpcb_sim_draw(const hpcb_sim_dist_t *dist, hpcb_sim_stream_t *stream);

/* No draw is above it; of an exponential one, its mean. */
int64_t hpcb_sim_dist_most(const hpcb_sim_dist_t *dist);

void hpcb_sim_dist_free(hpcb_sim_dist_t *dist);

#endif
