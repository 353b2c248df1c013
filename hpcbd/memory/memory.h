/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Memory of the node's jobs: two child processes.  One samples and ends guests
 * (hpcbd/memory/guard.h); the other communicates with the collector and slurmctld
 * (hpcbd/memory/report.h) and may block.
 */
#ifndef HPCB_HPCBD_MEMORY_MEMORY_H
#define HPCB_HPCBD_MEMORY_MEMORY_H

#include <json-c/json.h>
#include "hpcbd/hpcbd.h"

extern const hpcbd_part_t hpcbd_memory;

/* Return {"real", "reserve", "primaries_expected", "lent", "guests"} of the node, in
 * bytes; the caller frees it.  lent is 0 until it is known.  Return NULL if memory is
 * short or nothing is known. */
json_object *hpcbd_memory_status(void);

/* Return {"level", "why", "part", "low", "high", "bursts", "dropped"}: the probe's
 * result for memory bandwidth (hpcbd/node/saturation.h); the parts are missing if there
 * were too few bursts.  The caller frees it.  Return NULL with MemoryProbe=no. */
json_object *hpcbd_memory_saturation(void);

#endif
