/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include "sensor/membench_kernel.h"

/* Half of the smallest first-level cache of the last twenty years. */
#define CHUNK_BYTES 16384

#define UNROLLED 8

hpcb_membench_chunk_t hpcb_membench_chunk(size_t stride, size_t line, bool write)
{
    size_t accesses = CHUNK_BYTES / sizeof(hpcb_membench_word_t) / stride;
    hpcb_membench_chunk_t chunk;

    accesses -= accesses % UNROLLED;
    if (accesses == 0)
        accesses = UNROLLED;
    chunk.accesses = accesses;
    chunk.span = accesses * stride;
    chunk.bytes = stride * sizeof(hpcb_membench_word_t) < line
                      ? chunk.span * sizeof(hpcb_membench_word_t)
                      : accesses * line;
    if (write)
        chunk.bytes *= 2;
    return chunk;
}

double hpcb_membench_read(const hpcb_membench_word_t *words,
                          const hpcb_membench_chunk_t *chunk, size_t stride)
{
    const hpcb_membench_word_t *end = words + chunk->span;
    double sum = 0;

    /* Memory may have changed: a compiler that sees callers and this function together
     * must read the chunk again. */
    __asm__ volatile("" ::: "memory");
    for (const hpcb_membench_word_t *word = words; word < end;
         word += UNROLLED * stride) {
        sum += word[0];
        sum += word[stride];
        sum += word[2 * stride];
        sum += word[3 * stride];
        sum += word[4 * stride];
        sum += word[5 * stride];
        sum += word[6 * stride];
        sum += word[7 * stride];
    }
    return sum;
}

double hpcb_membench_write(hpcb_membench_word_t *words,
                           const hpcb_membench_chunk_t *chunk, size_t stride)
{
    hpcb_membench_word_t *end = words + chunk->span;
    double sum = 0;

    for (hpcb_membench_word_t *word = words; word < end; word += UNROLLED * stride) {
        for (size_t i = 0; i < UNROLLED; i++) {
            sum += word[i * stride];
            word[i * stride] = 1;
        }
    }
    return sum;
}
