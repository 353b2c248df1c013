/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How often and for how long the guard restricted guests, and guests were stopped that
 * got next to nothing: sums for the records of the jobs (common/measured.h).  Since
 * this daemon has started.
 */
#ifndef HPCB_HPCBD_HARM_TALLY_H
#define HPCB_HPCBD_HARM_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include "common/class.h"
#include "common/measured.h"

/* What lasts. */
typedef enum {
    HPCBD_TALLY_SLICED,    /* a primary's tasks have long slices */
    HPCBD_TALLY_THROTTLED, /* a guest runs in a part of the time */
    HPCBD_TALLY_STOPPED,   /* a guest is stopped for its harm */
    HPCBD_TALLY_STARVED,   /* a guest is stopped because it gets next to nothing */
    HPCBD_TALLY_TIMES
} hpcbd_tally_time_t;

/* From now on, or no longer.  Saying so again changes nothing. */
void hpcbd_tally_time(uint32_t job_id, hpcbd_tally_time_t which, bool on);

/* Of a primary: guests were restricted further because of it; so many were requeued. */
void hpcbd_tally_step(uint32_t primary);
void hpcbd_tally_requeued(uint32_t primary, unsigned guests);

/* Add what there is of the job up to now to what a daemon before this one has seen;
 * what does not concern a job of its class stays unknown. */
void hpcbd_tally_add(uint32_t job_id, hpcb_class_t klass, hpcb_restraint_t *restraint);

/* The job is over, or begins anew. */
void hpcbd_tally_forget(uint32_t job_id);

#endif
