/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Messages of a job's ranks at the end of an iteration, and their order.
 *
 * An iteration ends with one or several blocking calls.  A barrier takes the rounds of
 * the dissemination algorithm (Hensgen, Finkel and Manber 1988): in round k a rank
 * sends to the one 2^k above it, and waits for that 2^k below; it begins a round only
 * after the message of the previous one.  A ring is one round with both neighbours.
 *
 * The state of a rank is the total number of messages (of a ring: pairs) that it has
 * sent.
 */
#ifndef HPCB_SIM_EXCHANGE_H
#define HPCB_SIM_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    unsigned n;      /* ranks */
    unsigned calls;  /* blocking calls at the end of an iteration */
    unsigned rounds; /* per call */
    bool ring;
} hpcb_sim_exchange_t;

/* Return the pattern.  n, calls: at least 1. */
hpcb_sim_exchange_t hpcb_sim_exchange(unsigned n, bool ring, unsigned calls);

/* Return whether the messages for which rank waits after its last one have been sent.
 * sent: of each rank; that of rank is not 0. */
bool hpcb_sim_exchange_has(const hpcb_sim_exchange_t *exchange, const int64_t sent[],
                           unsigned rank);

/* Return whether the message with this number, from 1 on, is the last of its call, or
 * of its iteration. */
bool hpcb_sim_exchange_ends_call(const hpcb_sim_exchange_t *exchange, int64_t number);
bool hpcb_sim_exchange_ends(const hpcb_sim_exchange_t *exchange, int64_t number);

#endif
