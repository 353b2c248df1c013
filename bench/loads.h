/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The micro-benchmarks of Boneti's thesis, section 2.4.2: loops that each stress one
 * thing of a processor.  Work is counted in micro-iterations, never timed.
 */
#ifndef HPCB_BENCH_LOADS_H
#define HPCB_BENCH_LOADS_H

#include <stddef.h>
#include <stdint.h>

typedef struct bench_load bench_load_t;

/* The names of table 2.4 ("cpu_int", "ldint_l1", ...), NULL after the last one. */
const char *bench_load_name(unsigned i);

/* Set one up with its memory, NULL if there is no such load or no memory. */
bench_load_t *bench_load_open(const char *name);
void bench_load_close(bench_load_t *load);

/* Do so many micro-iterations.  The result depends on all of them. */
uint64_t bench_load_run(bench_load_t *load, uint64_t iterations);

/* Micro-iterations in a second of CPU time, from a probe of about 0.1 s. */
double bench_load_rate(bench_load_t *load);

#endif
