/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The names are those of the paper's section 2. */
#include "policy/siphash.h"

#define ROUNDS       2 /* c: for each word */
#define FINAL_ROUNDS 4 /* d */

#define WORD sizeof(uint64_t)

static uint64_t turn(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], int rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = turn(v[1], 13) ^ v[0];
        v[3] = turn(v[3], 16) ^ v[2];
        v[0] = turn(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = turn(v[1], 17) ^ v[2];
        v[3] = turn(v[3], 21) ^ v[0];
        v[2] = turn(v[2], 32);
    }
}

static void take_in(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_rounds(v, ROUNDS);
    v[0] ^= word;
}

static uint64_t word_of(const unsigned char *bytes, size_t count)
{
    uint64_t word = 0;

    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

uint64_t hpcb_siphash(const hpcb_siphash_key_t *key, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    uint64_t k0 = key->half[0], k1 = key->half[1];
    uint64_t v[4] = {
        k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
        k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    size_t whole = length - length % WORD;

    for (size_t i = 0; i < whole; i += WORD)
        take_in(v, word_of(bytes + i, WORD));
    take_in(v, word_of(bytes + whole, length % WORD) | (uint64_t)length << 56);
    v[2] ^= 0xff;
    sip_rounds(v, FINAL_ROUNDS);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
