/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the prolog and the epilog note of guests beside primaries (common/beside.h). */
#ifndef HPCB_HPCBCTL_JOB_BESIDE_H
#define HPCB_HPCBCTL_JOB_BESIDE_H

#include "common/beside.h"
#include "common/conf.h"
#include "common/state.h"

/* A primary has been recorded: note what the guests that are there have used. */
void hpcb_beside_begin(const hpcb_conf_t *conf, uint32_t primary);

/* A recorded guest has used cpu_us here and ends: tell all primaries that are there.
 * Called before its state is removed; more than once is no harm. */
void hpcb_beside_leave(const hpcb_conf_t *conf, const hpcb_job_state_t *guest,
                       uint64_t cpu_us);

/* A recorded primary ends: who was beside it.  Not known where it cannot be read. */
void hpcb_beside_end(const hpcb_conf_t *conf, const hpcb_job_state_t *primary,
                     hpcb_beside_t *beside);

#endif
