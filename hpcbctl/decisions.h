/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Decisions about turns, which hpcbd sends in parts (hpcbd/gang/decision.h). */
#ifndef HPCB_HPCBCTL_DECISIONS_H
#define HPCB_HPCBCTL_DECISIONS_H

#include <json-c/json.h>

/* Return an array of the decisions that are complete, in the order of their parts,
 * without the members "from" and "of".  hpcbd adds and drops decisions between two
 * pages of parts, so some may be incomplete.  Changes the objects of parts; the caller
 * frees both.  Return NULL if memory is short. */
json_object *hpcb_decisions_join(json_object *parts);

#endif
