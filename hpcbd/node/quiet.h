/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Whether a node may be measured: no job is there, and nobody else is at work. */
#ifndef HPCB_HPCBD_NODE_QUIET_H
#define HPCB_HPCBD_NODE_QUIET_H

#include <stdbool.h>
#include "sensor/idle.h"

/* True if a job is recorded in state_dir, or if that cannot be read. */
bool hpcbd_has_jobs(const char *state_dir);

/* True if a guest is recorded in state_dir, or if that cannot be read. */
bool hpcbd_has_guests(const char *state_dir);

/* True if between the two readings somebody used more of the CPUs than the daemons of
 * an idle node do: 5 % of them, or a quarter of one.  Waiting for storage is no use. */
bool hpcbd_is_busy(const hpcb_idle_t *before, const hpcb_idle_t *after);

#endif
