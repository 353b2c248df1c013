/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Where ranks can be put: CPUs with the core and package that each belongs to. */
#ifndef HPCB_HPCBD_BALANCE_PLACES_H
#define HPCB_HPCBD_BALANCE_PLACES_H

#include "cgroup/node.h"
#include "common/error.h"
#include "policy/balance.h"
#include "policy/cpus.h"

/* cpus in the order that policy/balance.h wants.  A CPU of which sysfs says nothing is
 * a core of its own.  0, or -1 with err: none, or too many. */
int hpcbd_places(const hpcb_node_t *node, const hpcb_cpus_t *cpus,
                 hpcb_balance_places_t *places, hpcb_error_t *err);

/* The one with this number; places->n where there is none. */
unsigned hpcbd_place_of(const hpcb_balance_places_t *places, unsigned cpu);

/* Some core has several of them. */
bool hpcbd_places_smt(const hpcb_balance_places_t *places);

#endif
