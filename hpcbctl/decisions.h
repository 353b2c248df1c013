/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Decisions about turns, which hpcbd says in parts (hpcbd/gang/decision.h). */
#ifndef HPCB_HPCBCTL_DECISIONS_H
#define HPCB_HPCBCTL_DECISIONS_H

#include <json-c/json.h>

/* The decisions of which parts, an array in the order in which they came, has all,
 * without the members "from" and "of".  hpcbd takes and forgets decisions between two
 * pages of parts, so that some may be missing.  Takes objects of parts apart; the
 * caller frees both.  NULL: memory ran out. */
json_object *hpcb_decisions_join(json_object *parts);

#endif
