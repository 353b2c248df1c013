/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Loops that go to memory as programs of the NAS benchmarks do (Koukis and Koziris,
 * figure 1), the project's own: by their access patterns, not by what they compute.
 * Arithmetic is in whole numbers modulo 2^64, so that each result is known exactly.
 */
#ifndef HPCB_BENCH_KERNELS_H
#define HPCB_BENCH_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_kernel bench_kernel_t;

/* "CG", "EP", ..., NULL after the last one. */
const char *bench_kernel_name(unsigned i);

/* At least that much memory has each. */
#define BENCH_KERNEL_MIN ((size_t)1 << 20)

/* One that takes at most so many bytes of memory; NULL if there is no such kernel, or
 * no memory.  bench_kernel_close() frees it. */
bench_kernel_t *bench_kernel_open(const char *name, size_t bytes);
void bench_kernel_close(bench_kernel_t *kernel);

/* Do the next part, of less than a millisecond or so.  Return the bytes that it goes to
 * memory for, nothing of it being in a cache; 0: the result of a pass is wrong. */
uint64_t bench_kernel_step(bench_kernel_t *kernel);

/* Whether a word that results rest on is damaged is found out by the end of so many
 * passes of all of them; for tests: damage one.  Results of CG do not rest on the words
 * of the vector, some 13.5 %, that are in no column. */
#define BENCH_KERNEL_PASSES 2
void bench_kernel_damage(bench_kernel_t *kernel);

#endif
