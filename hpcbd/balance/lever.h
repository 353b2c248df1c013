/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Effect of a rank's priority: a weight among the ranks of its CPU, and a quota if
 * ranks are on threads of one core.  On POWER, where a program sets the priority of its
 * own thread, the page requests it from the library.  If each rank has a core of its
 * own, the preference of cpufreq for its CPU.
 */
#ifndef HPCB_HPCBD_BALANCE_LEVER_H
#define HPCB_HPCBD_BALANCE_LEVER_H

#include "hpcbd/balance/unit_data.h"

/* Find which levers have an effect at the ranks' present CPUs: sets weighs and limits
 * of unit. */
void hpcbd_lever_find(hpcbd_unit_t *unit);

/* Return the levers of the unit for users: "weight", "quota" or "ppr", both
 * ("weight+quota"), "frequency", or "place". */
const char *hpcbd_lever_name(const hpcbd_unit_t *unit);

/* Return a rank's present weight; 0 if it is not set. */
uint32_t hpcbd_lever_weight(const hpcbd_unit_t *unit, unsigned rank);

/* Apply all levers to a rank.  A failure is logged once and stored in unit's why. */
void hpcbd_lever_pull(hpcbd_unit_t *unit, unsigned rank);

#endif
