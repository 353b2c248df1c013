/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A process that moves the ranks of a unit to groups or removes these: the kernel may
 * make whoever does that wait for 10 to 20 ms, in which others wait in the daemon's
 * loop.  It ends with the daemon; what it leaves behind then the watchdog removes,
 * which comes later: until it has ended, the pipe that tells the watchdog is open here,
 * too.
 */
#ifndef HPCB_HPCBD_BALANCE_MOVE_H
#define HPCB_HPCBD_BALANCE_MOVE_H

#include "hpcbd/balance/unit_data.h"

/* Call move for every rank, there or, where there can be no process, here.  None runs
 * for unit yet. */
void hpcbd_move_start(hpcbd_unit_t *unit, void (*move)(const hpcb_rank_spec_t *spec));

/* Whether there is none any more; wait: until there is. */
bool hpcbd_move_ended(hpcbd_unit_t *unit, bool wait);

#endif
