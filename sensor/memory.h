/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Memory of a job on this node.
 *
 * Used memory is what cannot be reclaimed without loss: anonymous memory, tmpfs and
 * shared memory, huge pages, locked memory, the kernel's memory for the job, page cache
 * that is dirty or on the active list.  Only clean cache on the inactive list does not
 * count.
 *
 * If Slurm gives the job a group of the memory controller (v1 or v2), the kernel
 * counts, including files in tmpfs that no process maps.  Otherwise the job's processes
 * are summed up from /proc: memory that several share counts once if all of them belong
 * to the job; a file in tmpfs counts only as far as it is mapped, and page cache not at
 * all.  Huge pages of hugetlbfs come from /proc in both cases.
 */
#ifndef HPCB_SENSOR_MEMORY_H
#define HPCB_SENSOR_MEMORY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "cgroup/node.h"

typedef struct {
    uint64_t total;      /* bytes: MemTotal */
    uint64_t available;  /* bytes: MemAvailable */
    uint64_t huge_pages; /* of the default size, in the pool */
    uint64_t swap_free;  /* bytes */
} hpcb_memory_node_t;

/* Read the node's memory.  Return 0, or -1 with errno and err. */
int hpcb_memory_node(const hpcb_node_t *node, hpcb_memory_node_t *memory,
                     hpcb_error_t *err);

/* Parse the content of /proc/meminfo.  Return 0, or -1 if it lacks one of the first
 * two. */
int hpcb_memory_parse(const char *meminfo, hpcb_memory_node_t *memory);

typedef struct {
    uint64_t used;        /* bytes */
    uint64_t cache;       /* bytes: clean, inactive page cache; 0 without a group */
    uint64_t reclaimable; /* bytes: part of used, active and dirty page cache */
    uint64_t peak;        /* bytes: largest charge of the group; 0: unknown */
    bool huge;            /* used includes huge pages of hugetlbfs */
    bool exiting; /* all of its processes are exiting, so that dir is before's (v1) */
    char dir[PATH_MAX]; /* its group of the memory controller; "": it has none */
} hpcb_memory_t;

/* Get the present use of the job in steps (hpcb_steps_job).  before: its group in the
 * last call, which may be memory->dir, or "": memory of exiting processes is still
 * charged there when their own group is not known any more.  huge: include huge pages
 * of hugetlbfs, which requires reading each of its processes.  Return 0, also for a job
 * without processes or steps; -1 with errno and err if steps cannot be read. */
int hpcb_memory_job(const hpcb_node_t *node, const char *steps, const char *before,
                    bool huge, hpcb_memory_t *memory, hpcb_error_t *err);

/* Return the thousandths of the time between two calls in which a task of the node
 * waited for memory; the caller keeps *total_us between calls.  0 if the kernel has no
 * PSI. */
unsigned hpcb_memory_stalled(const hpcb_node_t *node, uint64_t elapsed_us,
                             uint64_t *total_us);

#endif
