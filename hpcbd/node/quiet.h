/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Whether a node may be measured: no job is there, and nobody else is at work. */
#ifndef HPCB_HPCBD_NODE_QUIET_H
#define HPCB_HPCBD_NODE_QUIET_H

#include <stdbool.h>

/* True if a job is recorded in state_dir, or if that cannot be read. */
bool hpcbd_has_jobs(const char *state_dir);

/* True if more tasks ran or wanted to, in the mean of the last minute, than the daemons
 * of an idle node: 5 % of the CPUs, or 0.5. */
bool hpcbd_is_busy(void);

#endif
