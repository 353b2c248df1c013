/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Short bursts of membench's reads (sensor/membench_kernel.h) on an idle CPU, from
 * which policy/saturation.h derives whether the node's memory is saturated.  The block
 * belongs to the NUMA node of the CPUs on which it was touched.
 *
 * A burst, or a part of the first touch, takes HPCB_PROBE_BURST_US and is abandoned as
 * soon as anything else runs on its CPU.  The caller runs with SCHED_IDLE, in a thread
 * of its own.
 */
#ifndef HPCB_SENSOR_PROBE_H
#define HPCB_SENSOR_PROBE_H

#include <stddef.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "common/error.h"

#define HPCB_PROBE_BURST_US 600

/* Maximum number of bytes of the block that one hpcb_probe_touch writes. */
#define HPCB_PROBE_PART ((size_t)4 << 20)

typedef struct hpcb_probe hpcb_probe_t;

/* Return the size of a block that does not fit into caches: twice the largest one of
 * CPU 0, or 64 MiB if the kernel reports none.  Return 0 with err if that is more than
 * a 128th of memory bytes. */
size_t hpcb_probe_block(const hpcb_node_t *node, uint64_t memory, hpcb_error_t *err);

/* Reserve addresses for such a block, which uses no memory until it is touched.  Return
 * 0, or -1 with errno and err. */
int hpcb_probe_open(size_t block, hpcb_probe_t **probe, hpcb_error_t *err);
void hpcb_probe_close(hpcb_probe_t *probe);

/* Write the block's next part on cpu.  Return 0 if the whole block is written; or -1
 * with errno: EAGAIN (there are more parts), EBUSY (another task or the hypervisor
 * needed the CPU; what was written counts), or that of sched_setaffinity(2).  Restores
 * the affinity of the calling thread. */
int hpcb_probe_touch(hpcb_probe_t *probe, unsigned cpu);

/* Run one burst on cpu, with a block that is written: bytes/s from memory and from the
 * first-level cache.  Return 0; or -1 with rates unchanged and errno: EBUSY, or that of
 * sched_setaffinity(2).  Restores the affinity, too. */
int hpcb_probe_burst(hpcb_probe_t *probe, unsigned cpu, uint64_t *memory,
                     uint64_t *cache);

#endif
