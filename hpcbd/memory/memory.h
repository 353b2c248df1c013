/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Memory of the node's jobs: two child processes, of which one samples and ends guests
 * (hpcbd/memory/guard.h) and one speaks with the collector and slurmctld
 * (hpcbd/memory/report.h), and so may wait.
 */
#ifndef HPCB_HPCBD_MEMORY_MEMORY_H
#define HPCB_HPCBD_MEMORY_MEMORY_H

#include <json-c/json.h>
#include "hpcbd/hpcbd.h"

extern const hpcbd_part_t hpcbd_memory;

/* {"real", "reserve", "primaries_expected", "lent", "guests"} of the node, in bytes;
 * the caller frees it.  lent is 0 as long as nothing is known.  NULL when memory runs
 * out, or nothing is known. */
json_object *hpcbd_memory_status(void);

/* {"level", "why", "part", "low", "high", "bursts", "dropped"}: what the probe says of
 * memory's bandwidth (hpcbd/node/saturation.h); the parts are missing if there were too
 * few bursts.  The caller frees it.  NULL with MemoryProbe=no. */
json_object *hpcbd_memory_saturation(void);

#endif
