/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Which messages the ranks of a job send each other at the end of an iteration, and in
 * what order.
 *
 * An iteration ends with one or several blocking calls.  A barrier takes the rounds of
 * the dissemination algorithm (Hensgen, Finkel and Manber 1988): in round k a rank
 * sends to the one that is 2^k above it, and waits for that 2^k below; it begins a
 * round only once it has the message of the round before.  A ring is one round with
 * both neighbours.
 *
 * A rank is described by how many messages (of a ring: pairs) it has sent in all.
 */
#ifndef HPCB_SIM_EXCHANGE_H
#define HPCB_SIM_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    unsigned n;      /* ranks */
    unsigned calls;  /* blocking calls that end an iteration */
    unsigned rounds; /* of a call */
    bool ring;
} hpcb_sim_exchange_t;

/* n: 1 and up; calls: 1 and up. */
hpcb_sim_exchange_t hpcb_sim_exchange(unsigned n, bool ring, unsigned calls);

/* Whether what rank waits for after its last message has been sent.  sent: of each
 * rank; that of rank is not 0. */
bool hpcb_sim_exchange_has(const hpcb_sim_exchange_t *exchange, const int64_t sent[],
                           unsigned rank);

/* Whether the message with this number, from 1 on, is the last of its call, or of its
 * iteration. */
bool hpcb_sim_exchange_ends_call(const hpcb_sim_exchange_t *exchange, int64_t number);
bool hpcb_sim_exchange_ends(const hpcb_sim_exchange_t *exchange, int64_t number);

#endif
