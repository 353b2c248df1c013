/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The first stages of hpcbd/balance/unit.h at the begin of a step, each of which
 * handles a few ranks per call.  Each returns true if it is complete and the next one
 * may begin.
 */
#ifndef HPCB_HPCBD_BALANCE_BEGIN_H
#define HPCB_HPCBD_BALANCE_BEGIN_H

#include "hpcbd/balance/unit_data.h"

/* Check whether its tasks have begun.  Sets unit->waits if one has not: try again
 * later. */
bool hpcbd_begin_wait(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit);

/* Find the CPUs on which its tasks may run, and whether balancing can gain anything. */
bool hpcbd_begin_place(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit);

/* Start moving them to groups if they have none (hpcbd/balance/move.h). */
bool hpcbd_begin_gather(hpcbd_unit_t *unit);

/* Open group, CPU and page of each. */
bool hpcbd_begin_take(hpcbd_unit_t *unit);

#endif
