/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What hpcbd has measured of a job on this node so far, for the record that the epilog
 * writes: StateDir/jobs/<id>.measured.  A daemon that is started again goes on from it.
 * Only root reads it.
 */
#ifndef HPCB_COMMON_MEASURED_H
#define HPCB_COMMON_MEASURED_H

#include <stdbool.h>
#include <stdint.h>
#include "common/error.h"

#define HPCB_MEASURED_WHY_MAX 160

typedef struct {
    bool known;
    uint64_t bytes;                  /* moved since the job began here */
    uint64_t p95;                    /* bytes/s: policy/rate.h */
    char why[HPCB_MEASURED_WHY_MAX]; /* not known: why, printable ASCII */
} hpcb_measure_t;

#define HPCB_COST_UNKNOWN    INT64_MIN
#define HPCB_COST_METHOD_MAX 16

/* What guests cost a primary, as millionths of its run time; all three are
 * HPCB_COST_UNKNOWN and method is "" where that was not measured. */
typedef struct {
    int64_t cost, low, high;
    char method[HPCB_COST_METHOD_MAX]; /* one word */
    uint64_t of_us; /* of its run time, up to when that was found; 0: not known */
} hpcb_guest_cost_t;

#define HPCB_ELECTED_UNKNOWN UINT64_MAX

#define HPCB_RESTRAINT_UNKNOWN UINT64_MAX

/* What hpcbd has done to keep guests from harming primaries (policy/guard.h); times are
 * microseconds.  HPCB_RESTRAINT_UNKNOWN: not of such a job, or nobody has counted. */
typedef struct {
    /* Of a primary: */
    uint64_t steps;     /* by which guests next to it were restricted further */
    uint64_t requeued;  /* guests that Slurm was asked to requeue because of it */
    uint64_t sliced_us; /* its tasks had long slices */
    /* Of a guest: */
    uint64_t throttled_us; /* it ran in a half or a quarter of the time */
    uint64_t stopped_us;   /* it was stopped for its harm */
    uint64_t starved_us;   /* it was stopped because it got next to nothing */
} hpcb_restraint_t;

typedef struct {
    hpcb_measure_t network; /* both ways */
    hpcb_measure_t memory;  /* to and from main memory */
    hpcb_guest_cost_t guest_cost;
    /* How long it was elected where jobs take turns, microseconds;
     * HPCB_ELECTED_UNKNOWN: it took none. */
    uint64_t elected_us;
    hpcb_restraint_t restraint;
} hpcb_measured_t;

extern const hpcb_guest_cost_t hpcb_guest_cost_unknown;
extern const hpcb_restraint_t hpcb_restraint_unknown;

/* Not known, for this reason. */
void hpcb_measure_unknown(hpcb_measure_t *measure, const char *why);

/* Replace the file.  0, or -1 with err. */
int hpcb_measured_save(const char *state_dir, uint32_t job_id,
                       const hpcb_measured_t *measured, hpcb_error_t *err);

/* What the file says; not known, and why, where there is none, or none to believe. */
void hpcb_measured_load(const char *state_dir, uint32_t job_id,
                        hpcb_measured_t *measured);

#endif
