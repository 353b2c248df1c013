/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How membench reads memory (Koukis and Koziris, "Memory and Network Bandwidth Aware
 * Scheduling", section 3): a block of words, in order, every stride-th of them, in an
 * unrolled loop.
 *
 * The reads form one chain of floating-point additions, which a compiler may not put in
 * another order, so that a word costs the latency of an addition whether it comes from
 * a cache or from memory.  That makes the stride a knob for the bandwidth on processors
 * of today too: with stride 1 all words of a line but one are hits and the chain bounds
 * the speed, with a stride of one line memory does.
 *
 * Still less is asked for by reading each chunk, which fits every first-level cache,
 * more than once before going on; more by writing each word that was read: memory then
 * moves each line twice.
 */
#ifndef HPCB_SENSOR_MEMBENCH_KERNEL_H
#define HPCB_SENSOR_MEMBENCH_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef double hpcb_membench_word_t;

#define HPCB_MEMBENCH_STRIDE_MAX 4096 /* words */

/* The part of a block between two looks at the clock. */
typedef struct {
    size_t accesses; /* words read */
    size_t span;     /* words from its first to that of the next chunk */
    size_t bytes;    /* what memory moves for it: whole lines */
} hpcb_membench_chunk_t;

/* stride in words, 1..HPCB_MEMBENCH_STRIDE_MAX; line: bytes of a cache line. */
hpcb_membench_chunk_t hpcb_membench_chunk(size_t stride, size_t line, bool write);

/* Read a chunk and return the sum of its words. */
double hpcb_membench_read(const hpcb_membench_word_t *words,
                          const hpcb_membench_chunk_t *chunk, size_t stride);

/* The same, and each word that was read becomes 1. */
double hpcb_membench_write(hpcb_membench_word_t *words,
                           const hpcb_membench_chunk_t *chunk, size_t stride);

#endif
