/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Number and duration of restrictions of guests by the guard, and of stops of starving
 * guests: sums for the records of the jobs (common/measured.h), since the start of this
 * daemon.
 */
#ifndef HPCB_HPCBD_HARM_TALLY_H
#define HPCB_HPCBD_HARM_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include "common/class.h"
#include "common/measured.h"

/* Conditions with a duration. */
typedef enum {
    HPCBD_TALLY_SLICED,    /* a primary's tasks have long slices */
    HPCBD_TALLY_THROTTLED, /* a guest runs in a part of the time */
    HPCBD_TALLY_STOPPED,   /* a guest is stopped because of its harm */
    HPCBD_TALLY_STARVED,   /* a guest is stopped because it gets next to no CPU time */
    HPCBD_TALLY_TIMES
} hpcbd_tally_time_t;

/* Begin or end a condition.  Repeated calls have no effect. */
void hpcbd_tally_time(uint32_t job_id, hpcbd_tally_time_t which, bool on);

/* Count for a primary: guests were restricted further because of it; so many were
 * requeued. */
void hpcbd_tally_step(uint32_t primary);
void hpcbd_tally_requeued(uint32_t primary, unsigned guests);

/* Add the job's sums to those of an earlier daemon; what does not apply to its class
 * stays unknown. */
void hpcbd_tally_add(uint32_t job_id, hpcb_class_t klass, hpcb_restraint_t *restraint);

/* Drop the sums, because the job has ended or begins anew. */
void hpcbd_tally_forget(uint32_t job_id);

#endif
