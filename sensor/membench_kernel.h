/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * membench's reads of memory (Koukis and Koziris, "Memory and Network Bandwidth Aware
 * Scheduling", section 3): a block of words, in order, every stride-th of them, in an
 * unrolled loop.
 *
 * The reads form one chain of floating-point additions, which a compiler may not
 * reorder, so that a word costs the latency of an addition whether it comes from a
 * cache or from memory.  So the stride also controls the bandwidth on present
 * processors: with stride 1 all words of a line but one are hits and the chain limits
 * the speed, with a stride of one line memory does.
 *
 * Reading each chunk, which fits every first-level cache, several times before the next
 * one requires less bandwidth; writing each word that was read requires more, because
 * memory then transfers each line twice.
 */
#ifndef HPCB_SENSOR_MEMBENCH_KERNEL_H
#define HPCB_SENSOR_MEMBENCH_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef double hpcb_membench_word_t;

#define HPCB_MEMBENCH_STRIDE_MAX 4096 /* words */

/* Part of a block between two readings of the clock. */
typedef struct {
    size_t accesses; /* words read */
    size_t span;  /* words from the first of this chunk to the first of the next one */
    size_t bytes; /* traffic of memory for it: whole lines */
} hpcb_membench_chunk_t;

/* Return the chunk.  stride in words, 1..HPCB_MEMBENCH_STRIDE_MAX; line: bytes of a
 * cache line. */
hpcb_membench_chunk_t hpcb_membench_chunk(size_t stride, size_t line, bool write);

/* Read a chunk and return the sum of its words. */
double hpcb_membench_read(const hpcb_membench_word_t *words,
                          const hpcb_membench_chunk_t *chunk, size_t stride);

/* Read a chunk, set each word that was read to 1, and return the sum. */
double hpcb_membench_write(hpcb_membench_word_t *words,
                           const hpcb_membench_chunk_t *chunk, size_t stride);

#endif
