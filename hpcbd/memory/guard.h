/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The child process that samples the memory of this node's jobs and ends guests before
 * a primary lacks any (policy/memguard.h).  Its last sample is in StateDir/memory, in
 * the format of hpcbd/records/wire_live.h, where the daemon and the process that sends
 * reports read it.
 */
#ifndef HPCB_HPCBD_MEMORY_GUARD_H
#define HPCB_HPCBD_MEMORY_GUARD_H

#include <stdint.h>
#include "common/conf.h"

#define HPCBD_MEMORY_FILE "memory"

/* Return the bytes of a node with that much memory that are never lent:
 * GuestMemoryReserve. */
uint64_t hpcbd_memory_reserve(const hpcb_conf_t *conf, uint64_t memory);

/* Run until it is killed.  conf: a hpcb_conf_t. */
int hpcbd_memory_guard(void *conf);

#endif
