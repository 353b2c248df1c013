/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * CPU time that a job is expected to use in the next minutes, from its use in the last
 * ones.  Guests live on the CPU time that primaries leave.  The estimate is an
 * exponential mean with a time constant of one minute, longer than the phases of most
 * iterations; for a younger job, the mean over its whole time.  Pure.
 */
#ifndef HPCB_POLICY_BUSY_H
#define HPCB_POLICY_BUSY_H

#include <stdbool.h>
#include <stdint.h>

/* The use of a job is unknown until its samples cover this time, because a job's start
 * is not typical of it. */
#define HPCB_BUSY_SETTLE_US UINT64_C(30000000)

/* All zero: not known. */
typedef struct {
    bool begun;
    uint64_t usage_us, time_us; /* of the last sample */
    uint64_t seen_us;           /* time that mean covers */
    double mean;                /* CPUs */
} hpcb_busy_t;

/* Add a sample.  usage_us: CPU time that the job has used since any fixed moment;
 * time_us: monotonic clock (both in microseconds).  A usage below that of the last
 * sample belongs to another job or group and starts anew. */
void hpcb_busy_add(hpcb_busy_t *busy, uint64_t usage_us, uint64_t time_us);

/* Write the number of CPUs that the job uses, in millionths.  Return false if it is not
 * known (yet). */
bool hpcb_busy_cpus(const hpcb_busy_t *busy, uint64_t *millionths);

#endif
