/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How the balance of a step begins: the first stages of hpcbd/balance/unit.h, each of
 * which deals with a few ranks in a call.  True: it is done, and the next one may go
 * on.
 */
#ifndef HPCB_HPCBD_BALANCE_BEGIN_H
#define HPCB_HPCBD_BALANCE_BEGIN_H

#include "hpcbd/balance/unit_data.h"

/* Have its tasks begun?  unit->waits where one has not: come back later. */
bool hpcbd_begin_wait(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit);

/* Where may they run, and can anything be won? */
bool hpcbd_begin_place(const hpcbd_balance_env_t *env, hpcbd_unit_t *unit);

/* Have them moved to groups, where they have none (hpcbd/balance/move.h). */
bool hpcbd_begin_gather(hpcbd_unit_t *unit);

/* Take them: group, CPU, page. */
bool hpcbd_begin_take(hpcbd_unit_t *unit);

#endif
