/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A bulk-synchronous job as a model: each rank has work (seconds of a CPU of its own)
 * in every iteration, and waits for the last one at its end.
 */
#ifndef HPCB_TESTS_POLICY_BALANCE_MODEL_H
#define HPCB_TESTS_POLICY_BALANCE_MODEL_H

#include "policy/balance.h"

typedef enum {
    MODEL_POLL,  /* ranks of a CPU that wait by polling */
    MODEL_SLEEP, /* ranks of a CPU that sleep while they wait */
    MODEL_SMT    /* threads of a core whose speeds depend on their priorities as on a
                    processor, not as the weights do */
} model_kind_t;

typedef struct {
    model_kind_t kind;
    hpcb_balance_places_t places;
    unsigned n;
    double work[HPCB_BALANCE_RANKS];
    double noise; /* of the work, up to this part of it more or less */
    uint32_t seed;
} model_t;

/* packages x cores x threads; CPUs are numbered in that order. */
void model_machine(model_t *model, unsigned packages, unsigned cores, unsigned threads);

/* Run one iteration: what each rank saw goes to samples.  Its length in seconds. */
double model_iterate(model_t *model, const hpcb_balance_t *balance,
                     hpcb_balance_sample_t *samples);

/* The shortest iteration of all placements that are even by number and all priorities
 * of 4 to 6, without noise. */
double model_best(const model_t *model);

#endif
