/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a rank's priority is turned into: a weight among the ranks of its CPU, and,
 * where ranks are on threads of one core, a quota; or on POWER, whose threads have
 * priorities that a program sets for itself, what its page asks the library for.  Where
 * each has a core to itself, what cpufreq is told of its CPU.
 */
#ifndef HPCB_HPCBD_BALANCE_LEVER_H
#define HPCB_HPCBD_BALANCE_LEVER_H

#include "hpcbd/balance/unit_data.h"

/* Which of the two can move anything where the ranks are now: unit's weighs and
 * limits. */
void hpcbd_lever_find(hpcbd_unit_t *unit);

/* What the unit uses, for people: "weight", "quota" or "ppr", both
 * ("weight+quota"), "frequency", or "place". */
const char *hpcbd_lever_name(const hpcbd_unit_t *unit);

/* What a rank weighs now; 0 where nothing is done to it. */
uint32_t hpcbd_lever_weight(const hpcbd_unit_t *unit, unsigned rank);

/* Give it all of them.  What fails is logged once and said in unit's why. */
void hpcbd_lever_pull(hpcbd_unit_t *unit, unsigned rank);

#endif
