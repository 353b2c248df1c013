/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Measurements of hpcbd of a job on this node, for the record that the epilog writes:
 * StateDir/jobs/<id>.measured.  A restarted daemon continues from it.  Only root reads
 * it.
 */
#ifndef HPCB_COMMON_MEASURED_H
#define HPCB_COMMON_MEASURED_H

#include <stdbool.h>
#include <stdint.h>
#include "common/error.h"

#define HPCB_MEASURED_WHY_MAX 160

typedef struct {
    bool known;
    uint64_t bytes;                  /* transferred since the job began on this node */
    uint64_t p95;                    /* bytes/s: policy/rate.h */
    char why[HPCB_MEASURED_WHY_MAX]; /* if not known: the reason, printable ASCII */
} hpcb_measure_t;

#define HPCB_COST_UNKNOWN    INT64_MIN
#define HPCB_COST_METHOD_MAX 16

/* Cost of guests for a primary, in millionths of its run time; all three are
 * HPCB_COST_UNKNOWN and method is "" if it was not measured. */
typedef struct {
    int64_t cost, low, high;
    char method[HPCB_COST_METHOD_MAX]; /* one word */
    uint64_t of_us; /* run time when the cost was measured; 0: not known */
} hpcb_guest_cost_t;

#define HPCB_ELECTED_UNKNOWN UINT64_MAX

#define HPCB_RESTRAINT_UNKNOWN UINT64_MAX

/* Measures of hpcbd that keep guests from harming primaries (policy/guard.h); times are
 * microseconds.  HPCB_RESTRAINT_UNKNOWN: not applicable to the job, or not counted. */
typedef struct {
    /* Of a primary: */
    uint64_t steps;    /* steps that restricted guests next to it further */
    uint64_t requeued; /* guests whose requeue was requested from Slurm because of it */
    uint64_t sliced_us; /* time for which its tasks had long slices */
    /* Of a guest: */
    uint64_t throttled_us; /* time in which it ran half or a quarter of the time */
    uint64_t stopped_us;   /* time for which it was stopped because of its harm */
    uint64_t starved_us; /* time for which it was stopped because it got next to no CPU
                            time */
} hpcb_restraint_t;

typedef struct {
    hpcb_measure_t network; /* both directions */
    hpcb_measure_t memory;  /* to and from main memory */
    hpcb_guest_cost_t guest_cost;
    /* Time for which it was elected if jobs take turns, microseconds;
     * HPCB_ELECTED_UNKNOWN: it took none. */
    uint64_t elected_us;
    hpcb_restraint_t restraint;
} hpcb_measured_t;

extern const hpcb_guest_cost_t hpcb_guest_cost_unknown;
extern const hpcb_restraint_t hpcb_restraint_unknown;

/* Set measure to not known, with the reason. */
void hpcb_measure_unknown(hpcb_measure_t *measure, const char *why);

/* Replace the file.  Return 0, or -1 with err. */
int hpcb_measured_save(const char *state_dir, uint32_t job_id,
                       const hpcb_measured_t *measured, hpcb_error_t *err);

/* Load the file; everything is unknown, with the reason, if there is none or it is not
 * trusted. */
void hpcb_measured_load(const char *state_dir, uint32_t job_id,
                        hpcb_measured_t *measured);

#endif
