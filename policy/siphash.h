/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012): without the key its results
 * cannot be distinguished from random numbers.  Code of our own, because no library
 * that the project needs anyway has a keyed hash.
 */
#ifndef HPCB_POLICY_SIPHASH_H
#define HPCB_POLICY_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t half[2]; /* of the 16 bytes, least significant byte first */
} hpcb_siphash_key_t;

uint64_t hpcb_siphash(const hpcb_siphash_key_t *key, const void *data, size_t length);

#endif
