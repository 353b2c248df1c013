/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Short bursts of membench's reads (sensor/membench_kernel.h) on one CPU that nobody
 * uses, from which policy/saturation.h tells whether the node's memory is saturated.
 * The block that they read belongs to the NUMA node on which it was opened.
 *
 * A burst takes HPCB_PROBE_BURST_US and is abandoned as soon as anybody else runs on
 * its CPU.  The caller runs with SCHED_IDLE, in a thread of its own.
 */
#ifndef HPCB_SENSOR_PROBE_H
#define HPCB_SENSOR_PROBE_H

#include <stddef.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "common/error.h"

#define HPCB_PROBE_BURST_US 600

typedef struct hpcb_probe hpcb_probe_t;

/* Bytes that a block must have not to be found in caches: twice the largest one of CPU
 * 0, 64 MiB if the kernel names none.  0 with err if that is more than the 128th part
 * of memory bytes. */
size_t hpcb_probe_block(const hpcb_node_t *node, uint64_t memory, hpcb_error_t *err);

/* Allocate such a block and touch it on cpu.  0, or -1 with errno and err.  The calling
 * thread may run on all CPUs afterwards. */
int hpcb_probe_open(unsigned cpu, size_t block, hpcb_probe_t **probe,
                    hpcb_error_t *err);
void hpcb_probe_close(hpcb_probe_t *probe);

/* One burst on cpu: bytes/s from memory and from the first cache.  0; or -1, rates
 * untouched, with errno: EBUSY (another task or the hypervisor wanted the CPU), or what
 * sched_setaffinity(2) says. */
int hpcb_probe_burst(hpcb_probe_t *probe, unsigned cpu, uint64_t *memory,
                     uint64_t *cache);

#endif
