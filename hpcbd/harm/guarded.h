/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A primary and the results of its experiments: the guests of the node that are
 * restricted for it (policy/guard.h decides), requeued, and stored as bad company.
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

/* All zero except job_id: nothing is known. */
typedef struct {
    uint32_t job_id;
    hpcb_progress_t since; /* comparisons for the next step */
    size_t heard;          /* their number at the last step */
    hpcb_guards_t guards;
    hpcbd_leavers_t leavers; /* guards.left applies to these */
    hpcb_guards_who_t there; /* groups in the last iteration, at stepped_ns */
    uint64_t stepped_ns;
    hpcbd_regulars_t near, far; /* members of the two groups */
    hpcb_guards_who_t ran;      /* groups that ran since evidence is collected */
    bool doubted, capped;       /* logged */
} hpcbd_guarded_t;

/* Take a step, if one is due.  limit: GuestMaxSlowdown, as a part of the run time.
 * Return true if guests are restricted further than before. */
bool hpcbd_guarded_step(hpcbd_guarded_t *guarded, hpcbd_near_t *near,
                        const char *state_dir, double limit);

/* Drop evidence, because guests were restricted further, for this primary or another
 * one. */
void hpcbd_guarded_anew(hpcbd_guarded_t *guarded);

/* Note that there is no guest on the node. */
void hpcbd_guarded_rest(hpcbd_guarded_t *guarded);

/* Return the level of this guest for this primary, and the most restrictive level of
 * all; below HPCB_GUARD_REQUEUE. */
hpcb_guard_level_t hpcbd_guarded_level(const hpcbd_guarded_t *guarded,
                                       hpcbd_near_t *near, const hpcbd_job_t *guest);
hpcb_guard_level_t hpcbd_guarded_most(const hpcbd_guarded_t *guarded);

/* Return whether the guest is stopped for other reasons than guard and experiments. */
bool hpcbd_guarded_is_held(const hpcbd_job_t *guest);

#endif
