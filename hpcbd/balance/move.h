/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Process that moves the ranks of a unit to groups or removes these.  The kernel may
 * block the caller of such a move for 10 to 20 ms, during which the daemon's loop would
 * not run.  The process ends with the daemon, and the watchdog removes what it leaves
 * behind.  The watchdog acts later: the pipe that it watches is also open in this
 * process until its end.
 */
#ifndef HPCB_HPCBD_BALANCE_MOVE_H
#define HPCB_HPCBD_BALANCE_MOVE_H

#include "hpcbd/balance/unit_data.h"

/* Call move for every rank in a new process, or in this one if none can be created.
 * unit must not have a process yet. */
void hpcbd_move_start(hpcbd_unit_t *unit, void (*move)(const hpcb_rank_spec_t *spec));

/* Return whether unit has no process any more; with wait, wait for its end. */
bool hpcbd_move_ended(hpcbd_unit_t *unit, bool wait);

#endif
