/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#ifndef HPCB_HPCBD_NODE_BUSY_H
#define HPCB_HPCBD_NODE_BUSY_H

#include <stdint.h>

#include "hpcbd/node/registry.h"
#include "policy/busy.h"

/* Add the CPU time that the job's tasks have used, unless the last sample is younger
 * than two seconds.  now_us: CLOCK_MONOTONIC, microseconds.  No effect on a job without
 * a group (yet). */
void hpcbd_busy_sample(hpcb_busy_t *busy, const hpcb_node_t *node,
                       const hpcbd_job_t *job, uint64_t now_us);

#endif
