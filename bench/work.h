/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Work that is counted, never timed: the same number of units is the same number
 * of instructions whoever runs beside it.  It lives in registers, so that a
 * neighbour takes cycles from it and nothing else.
 */
#ifndef HPCB_BENCH_WORK_H
#define HPCB_BENCH_WORK_H

#include <stdint.h>

/*
 * Do units of work (one is about a microsecond) and return a value that depends
 * on all of them and on seed: chained through a run, it shows that two runs did
 * the same.
 */
uint64_t bench_work(uint64_t seed, uint64_t units);

/*
 * Units per second of CPU time on this processor, from a probe of about 0.1 s.
 * CPU time, not wall time: a competitor does not change it.
 */
double bench_work_rate(void);

#endif
