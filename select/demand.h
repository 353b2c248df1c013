/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Demand of jobs from the tag in AdminComment (common/tag.h), cached by job ID because
 * slurmctld asks for the same jobs repeatedly.  A fixed table in which jobs replace
 * each other; nothing can fail.  Not thread-safe.
 */
#ifndef HPCB_SELECT_DEMAND_H
#define HPCB_SELECT_DEMAND_H

#include "select/usage.h"

/* Return the demand of job id.  Members of the tag that are no figures are unknown, and
 * so is everything if comment is NULL or has no tag. */
const hpcb_demand_t *hpcb_demand_of(uint32_t id, uint32_t uid, const char *comment);

#endif
