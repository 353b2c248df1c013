/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Common code of all stages of a unit: the ranks that a tick handles, and the next
 * stage.  Every stage handles a few ranks per tick, because the daemon's loop has other
 * events to serve.
 */
#ifndef HPCB_HPCBD_BALANCE_STAGE_H
#define HPCB_HPCBD_BALANCE_STAGE_H

#include "hpcbd/balance/unit_data.h"

/* Ranks per tick: a change of one takes up to a tenth of a millisecond. */
#define HPCBD_STAGE_RANKS 8

/* Return the rank before which the stage ends for this tick. */
unsigned hpcbd_stage_slice(const hpcbd_unit_t *unit);

/* Begin a stage with the first rank. */
void hpcbd_stage_enter(hpcbd_unit_t *unit, hpcbd_unit_stage_t stage);

/* Enter the stage if all ranks have completed this one; return false otherwise. */
bool hpcbd_stage_go_on(hpcbd_unit_t *unit, hpcbd_unit_stage_t stage);

/* Log that this unit is not balanced, and why (unit->why), and end it.  Return true. */
bool hpcbd_stage_refuse(hpcbd_unit_t *unit);

/* Log what is done after all ranks are opened, and enter the stage that does it. */
void hpcbd_stage_begun(hpcbd_unit_t *unit);

/* Bind a rank to the CPU that the policy chose.  Return 0, or -1 with err. */
int hpcbd_stage_pin(hpcbd_unit_t *unit, unsigned rank, hpcb_error_t *err);

/* Return the identity of a rank (cgroup/rank.h). */
hpcb_rank_spec_t hpcbd_stage_spec(const hpcbd_unit_t *unit, unsigned rank);

#endif
