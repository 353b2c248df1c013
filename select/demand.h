/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What the tag in a job's AdminComment (common/tag.h) says of its demand, kept by job
 * id: slurmctld asks for the same jobs again and again.  A fixed table, in which
 * jobs displace each other; nothing can fail.  Not thread-safe.
 */
#ifndef HPCB_SELECT_DEMAND_H
#define HPCB_SELECT_DEMAND_H

#include "select/usage.h"

/* What the tag of job id says.  Whatever is not a figure in it is unknown, and so is
 * all where comment is NULL or no tag. */
const hpcb_demand_t *hpcb_demand_of(uint32_t id, uint32_t uid, const char *comment);

#endif
