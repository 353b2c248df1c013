/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Whether a node may be measured: it has no job, and nothing else runs. */
#ifndef HPCB_HPCBD_NODE_QUIET_H
#define HPCB_HPCBD_NODE_QUIET_H

#include <stdbool.h>
#include "sensor/idle.h"

/* Return true if a job is recorded in state_dir, or if that cannot be read. */
bool hpcbd_has_jobs(const char *state_dir);

/* Return true if a guest is recorded in state_dir, or if that cannot be read. */
bool hpcbd_has_guests(const char *state_dir);

/* Return true if more of the CPUs was used between the two readings than the daemons of
 * an idle node use: 5 % of them, or a quarter of one.  Waiting for storage does not
 * count. */
bool hpcbd_is_busy(const hpcb_idle_t *before, const hpcb_idle_t *after);

#endif
