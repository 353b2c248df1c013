/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a job computes on, as far as it can be told of the next minutes by the last
 * ones: the CPU time that primaries leave is what a guest lives on.  A mean that
 * forgets with a time constant of a minute, longer than the phases of most iterations,
 * and over all of its time for a job that is younger.  Pure.
 */
#ifndef HPCB_POLICY_BUSY_H
#define HPCB_POLICY_BUSY_H

#include <stdbool.h>
#include <stdint.h>

/* Less than this says nothing: a job begins with what it does not do again. */
#define HPCB_BUSY_SETTLE_US UINT64_C(30000000)

/* All zero: nothing is known. */
typedef struct {
    bool begun;
    uint64_t usage_us, time_us; /* of the last sample */
    uint64_t seen_us;           /* over which mean is */
    double mean;                /* CPUs */
} hpcb_busy_t;

/* The job has used usage_us of CPU time since any moment, by time_us of a monotonic
 * clock (both microseconds).  A usage that is less than before is one of another job or
 * group: all begins anew. */
void hpcb_busy_add(hpcb_busy_t *busy, uint64_t usage_us, uint64_t time_us);

/* Write how many CPUs it computes on, in millionths.  Return false if that is not known
 * (yet). */
bool hpcb_busy_cpus(const hpcb_busy_t *busy, uint64_t *millionths);

#endif
