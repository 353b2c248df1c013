/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Places for ranks: CPUs with their cores and packages. */
#ifndef HPCB_HPCBD_BALANCE_PLACES_H
#define HPCB_HPCBD_BALANCE_PLACES_H

#include "cgroup/node.h"
#include "common/error.h"
#include "policy/balance.h"
#include "policy/cpus.h"

/* Get cpus in the order of policy/balance.h.  A CPU that sysfs does not describe is a
 * core of its own.  Return 0, or -1 with err: none, or too many. */
int hpcbd_places(const hpcb_node_t *node, const hpcb_cpus_t *cpus,
                 hpcb_balance_places_t *places, hpcb_error_t *err);

/* Return the index of the place with this CPU; places->n if there is none. */
unsigned hpcbd_place_of(const hpcb_balance_places_t *places, unsigned cpu);

/* Return whether a core has several places. */
bool hpcbd_places_smt(const hpcb_balance_places_t *places);

#endif
