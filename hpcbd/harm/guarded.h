/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A primary and what follows from its experiments: which of the node's guests are
 * restricted for it (policy/guard.h decides), requeued, and remembered as bad company.
 */
#ifndef HPCB_HPCBD_HARM_GUARDED_H
#define HPCB_HPCBD_HARM_GUARDED_H

#include <stdbool.h>
#include <stdint.h>
#include "hpcbd/harm/leavers.h"
#include "hpcbd/harm/near.h"
#include "hpcbd/harm/regulars.h"
#include "hpcbd/node/registry.h"
#include "policy/guard.h"
#include "policy/progress.h"

/* All zero but job_id: nothing is known of it. */
typedef struct {
    uint32_t job_id;
    hpcb_progress_t since; /* the comparisons that the next step rests on */
    size_t heard;          /* of these, at the last step */
    hpcb_guards_t guards;
    hpcbd_leavers_t leavers; /* guards.left is about these */
    hpcb_guards_who_t there; /* in the turn before, which was at stepped_ns */
    uint64_t stepped_ns;
    hpcbd_regulars_t near, far; /* who is in both groups */
    hpcb_guards_who_t ran;      /* in some turn since evidence is collected */
    bool doubted, capped;       /* that is in the log */
} hpcbd_guarded_t;

/* Take a step, if it is time for one.  limit: GuestMaxSlowdown, as a part of the run
 * time.  True: some guests are restricted further than before. */
bool hpcbd_guarded_step(hpcbd_guarded_t *guarded, hpcbd_near_t *near,
                        const char *state_dir, double limit);

/* Guests were restricted further, for this primary or another one: what they cost
 * before says nothing of now. */
void hpcbd_guarded_anew(hpcbd_guarded_t *guarded);

/* No guest is on the node. */
void hpcbd_guarded_rest(hpcbd_guarded_t *guarded);

/* What this guest may do for the sake of the primary, and the one that may do the
 * least; below HPCB_GUARD_REQUEUE. */
hpcb_guard_level_t hpcbd_guarded_level(const hpcbd_guarded_t *guarded,
                                       hpcbd_near_t *near, const hpcbd_job_t *guest);
hpcb_guard_level_t hpcbd_guarded_most(const hpcbd_guarded_t *guarded);

/* Whether somebody but guard and experiments stops the guest. */
bool hpcbd_guarded_is_held(const hpcbd_job_t *guest);

#endif
