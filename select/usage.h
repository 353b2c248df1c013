/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Usage of each node by jobs, updated as jobs start and end, so that the placement of a
 * guest does not scan all jobs.  Independent of Slurm: nodes are numbers from 0.
 *
 * Not thread-safe; slurmctld calls its select plugin under its job write lock.
 */
#ifndef HPCB_SELECT_USAGE_H
#define HPCB_SELECT_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "policy/fitness.h"

typedef struct hpcb_usage hpcb_usage_t;

/* Known demand of a job, the same on each of its nodes. */
typedef struct {
    hpcb_bw_t use;
    bool mem_known, net_known;
    bool cpu_known;
    bool learned;     /* from earlier runs, not set by the user */
    bool spread;      /* --bw-spread */
    uint32_t cpu;     /* millionths of its CPUs that it uses */
    uint64_t program; /* hpcb_fit_program, 0 = unknown */
    uint64_t peak;    /* bytes of memory on one node in earlier runs; 0: unknown */
} hpcb_demand_t;

typedef struct {
    uint32_t node;
    uint32_t processors;
    uint64_t memory; /* allocated memory in MiB */
} hpcb_place_on_t;

typedef struct {
    uint32_t id; /* never 0 */
    bool guest;
    int64_t since; /* its start: seconds of the caller's clock */
    hpcb_demand_t demand;
    size_t n_places;
    const hpcb_place_on_t *places; /* copied; sorted by node */
} hpcb_usage_job_t;

/* Create an empty table for nodes 0 to nodes - 1.  Return NULL if memory is short. */
hpcb_usage_t *hpcb_usage_new(size_t nodes);
void hpcb_usage_free(hpcb_usage_t *usage);

/* Add a job; one with the same ID is removed first.  Places on nonexistent nodes are
 * skipped.  Return 0, or -1 with nothing added if memory is short. */
int hpcb_usage_add(hpcb_usage_t *usage, const hpcb_usage_job_t *job);

/* Remove a job.  No effect if it is not there. */
void hpcb_usage_remove(hpcb_usage_t *usage, uint32_t id);

/*
 * Describe the node for a guest that runs program as in policy/fitness.h, except scale;
 * capacity is set by the caller, processors are those of the node.  A job of unknown
 * demand counts on the axes in matters.  The description of a nonexistent node is
 * empty.
 */
typedef struct {
    bool mem, net;
} hpcb_usage_axes_t;

void hpcb_usage_node(const hpcb_usage_t *usage, size_t node, const hpcb_bw_t *capacity,
                     hpcb_usage_axes_t matters, unsigned processors, uint64_t program,
                     hpcb_fit_node_t *description);

/* Return whether a primary that runs program is on the node and not suspended. */
bool hpcb_usage_has_primary(const hpcb_usage_t *usage, size_t node, uint64_t program);

/* Return the sums of the known use of primaries and guests on the node. */
hpcb_bw_t hpcb_usage_known(const hpcb_usage_t *usage, size_t node);

/* Return the number of guests. */
size_t hpcb_usage_guests(const hpcb_usage_t *usage);

/* Return the memory in MiB allocated to guests on the node. */
uint64_t hpcb_usage_guest_memory(const hpcb_usage_t *usage, size_t node);

/* Return the memory in MiB that primaries are expected to use on the node: their
 * allocation unless set by hpcb_usage_expect. */
uint64_t hpcb_usage_expected(const hpcb_usage_t *usage, size_t node);

/* A job on one node, with its expected use there. */
typedef struct {
    bool guest;
    int64_t since;
    uint64_t memory; /* allocated on that node, MiB */
    uint64_t peak;   /* bytes, from its demand */
    uint64_t
        *expected; /* of a primary, MiB; points into the table, see hpcb_usage_expect */
    uint32_t processors; /* allocated on that node */
    uint64_t *cpus;      /* CPUs that it uses, millionths; points into the table */
} hpcb_usage_at_t;

/* Return false if the job has nothing on the node. */
bool hpcb_usage_find(hpcb_usage_t *usage, uint32_t id, size_t node,
                     hpcb_usage_at_t *at);

/* Set the expected memory of the primary found on the node, in MiB. */
void hpcb_usage_expect(hpcb_usage_t *usage, size_t node, const hpcb_usage_at_t *at,
                       uint64_t expected);

/* Set the expected memory of all primaries to their allocation. */
void hpcb_usage_expect_all(hpcb_usage_t *usage);

/* Set the CPUs that the primary found on the node uses, in millionths. */
void hpcb_usage_compute(hpcb_usage_t *usage, size_t node, const hpcb_usage_at_t *at,
                        uint64_t cpus);

/* Set the CPUs of all primaries by their demand. */
void hpcb_usage_compute_all(hpcb_usage_t *usage);

#endif
