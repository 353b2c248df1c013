/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What all stages of a unit use: which ranks a tick deals with, and which stage is
 * next. Every stage deals with a few ranks in a tick, as the loop of the daemon has
 * others to serve.
 */
#ifndef HPCB_HPCBD_BALANCE_STAGE_H
#define HPCB_HPCBD_BALANCE_STAGE_H

#include "hpcbd/balance/unit_data.h"

/* Ranks of a tick: what is changed about one takes up to a tenth of a millisecond. */
#define HPCBD_STAGE_RANKS 8

/* Return the rank before which the stage ends for this tick. */
unsigned hpcbd_stage_slice(const hpcbd_unit_t *unit);

/* Begin a stage with the first rank. */
void hpcbd_stage_enter(hpcbd_unit_t *unit, hpcbd_unit_stage_t stage);

/* Enter the stage if all ranks are through this one; false if they are not. */
bool hpcbd_stage_go_on(hpcbd_unit_t *unit, hpcbd_unit_stage_t stage);

/* Log that nothing is done to this unit, and why (unit->why), and end it.  True. */
bool hpcbd_stage_refuse(hpcbd_unit_t *unit);

/* All ranks are taken: log what is done, and enter the stage that does it. */
void hpcbd_stage_begun(hpcbd_unit_t *unit);

/* Bind a rank to the CPU that the policy wants.  0, or -1 with err. */
int hpcbd_stage_pin(hpcbd_unit_t *unit, unsigned rank, hpcb_error_t *err);

/* Return who a rank is (cgroup/rank.h). */
hpcb_rank_spec_t hpcbd_stage_spec(const hpcbd_unit_t *unit, unsigned rank);

#endif
