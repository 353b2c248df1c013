/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Notes of prolog and epilog about guests on the same node as primaries
 * (common/beside.h). */
#ifndef HPCB_HPCBCTL_JOB_BESIDE_H
#define HPCB_HPCBCTL_JOB_BESIDE_H

#include "common/beside.h"
#include "common/conf.h"
#include "common/state.h"

/* Note the usage of present guests at the begin of a recorded primary. */
void hpcb_beside_begin(const hpcb_conf_t *conf, uint32_t primary);

/* Note for all present primaries that a recorded guest has used cpu_us here and ends.
 * Call it before its state is removed; repetition is harmless. */
void hpcb_beside_leave(const hpcb_conf_t *conf, const hpcb_job_state_t *guest,
                       uint64_t cpu_us);

/* At the end of a recorded primary: get the guests that were next to it during its run;
 * unknown if that cannot be read. */
void hpcb_beside_end(const hpcb_conf_t *conf, const hpcb_job_state_t *primary,
                     hpcb_beside_t *beside);

#endif
