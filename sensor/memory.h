/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Memory of a job on this node.
 *
 * What counts as used is what nobody else can have without loss: anonymous memory,
 * tmpfs and shared memory, huge pages, what is locked, what the kernel holds for the
 * job, page cache that is dirty or on the active list.  Clean cache on the inactive
 * list is the only thing that does not count.
 *
 * Where Slurm gives the job a group of the memory controller (v1 or v2), the kernel
 * counts, files in tmpfs that no process maps included.  Without one the job's
 * processes are summed up from /proc: memory that several share counts once as long as
 * all of them belong to the job; a file in tmpfs counts only as far as it is mapped,
 * and page cache not at all.  Huge pages of hugetlbfs come from /proc in both cases.
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

/* 0, or -1 with errno and err. */
int hpcb_memory_node(const hpcb_node_t *node, hpcb_memory_node_t *memory,
                     hpcb_error_t *err);

/* The content of /proc/meminfo.  0, or -1 if it lacks one of the first two. */
int hpcb_memory_parse(const char *meminfo, hpcb_memory_node_t *memory);

typedef struct {
    uint64_t used;        /* bytes */
    uint64_t cache;       /* bytes: clean, inactive page cache; 0 without a group */
    uint64_t reclaimable; /* bytes: of used, page cache on the active list, and dirty */
    uint64_t peak; /* bytes: the most that the group was charged for; 0: unknown */
    bool huge;     /* used includes huge pages of hugetlbfs */
    bool exiting;  /* all of its processes are, so that dir is the one before (v1) */
    char dir[PATH_MAX]; /* its group of the memory controller; "": it has none */
} hpcb_memory_t;

/* What the job in steps (hpcb_steps_job) uses now.  before: its group that was found
 * before, which may be memory->dir, or "": what exiting processes had is still charged
 * there, when they do not tell any more.  huge: look for huge pages of hugetlbfs, which
 * takes a look at each of its processes.  0, also for a job without processes, and for
 * one of which no step runs, so that steps is not there; -1 with errno and err if steps
 * cannot be read. */
int hpcb_memory_job(const hpcb_node_t *node, const char *steps, const char *before,
                    bool huge, hpcb_memory_t *memory, hpcb_error_t *err);

/* Thousandths of the time in which some task of the node waited for memory, between two
 * calls: total_us is what the first call left in it.  0 where the kernel has no PSI. */
unsigned hpcb_memory_stalled(const hpcb_node_t *node, uint64_t elapsed_us,
                             uint64_t *total_us);

#endif
