/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Size of a membench block that must come from memory, through hwloc. */
#ifndef HPCB_SENSOR_MEMBENCH_CACHE_H
#define HPCB_SENSOR_MEMBENCH_CACHE_H

#include <stddef.h>
#include "common/error.h"
#include "policy/cpus.h"

typedef struct {
    size_t last_level; /* bytes of the largest cache that a CPU shares; 0: unknown */
    size_t line;       /* bytes; 64 if hwloc does not know it */
    size_t block;      /* bytes for each thread */
} hpcb_membench_cache_t;

/*
 * Read this machine, or hwloc's synthetic description of one (tests).  cpus: one thread
 * runs on each of them; NULL: their CPUs are unknown.
 *
 * The blocks of the threads that share a last-level cache are together eight times as
 * large as it and the caches above it, so that at most an eighth is found there under
 * any replacement policy, and no block is below 16 MiB.  If hwloc knows no cache, 32
 * MiB are assumed for each thread.  Return 0, or -1 with err and cache unchanged.
 */
int hpcb_membench_cache(const char *synthetic, const hpcb_cpus_t *cpus,
                        hpcb_membench_cache_t *cache, hpcb_error_t *err);

#endif
