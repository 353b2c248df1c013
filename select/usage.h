/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Who uses what on each node, kept up to date as jobs start and end, so that placing a
 * guest does not walk over all jobs.  Knows nothing of Slurm: nodes are numbers from 0.
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

/* What is known of a job's demand, the same on each of its nodes. */
typedef struct {
    hpcb_bw_t use;
    bool mem_known, net_known;
    bool cpu_known;
    bool learned;     /* from earlier runs, not given */
    bool spread;      /* --bw-spread */
    uint32_t cpu;     /* millionths of its CPUs that it computes on */
    uint64_t program; /* hpcb_fit_program, 0 = unknown */
    uint64_t peak;    /* bytes of memory on one node, by earlier runs; 0: unknown */
} hpcb_demand_t;

typedef struct {
    uint32_t node;
    uint32_t processors;
    uint64_t memory; /* MiB that are allocated to it */
} hpcb_place_on_t;

typedef struct {
    uint32_t id; /* never 0 */
    bool guest;
    int64_t since; /* its start: seconds of the caller's clock */
    hpcb_demand_t demand;
    size_t n_places;
    const hpcb_place_on_t *places; /* copied; those of later nodes come later */
} hpcb_usage_job_t;

/* Nobody on nodes 0 to nodes - 1.  NULL when memory runs out. */
hpcb_usage_t *hpcb_usage_new(size_t nodes);
void hpcb_usage_free(hpcb_usage_t *usage);

/* Count a job; one of the same id is taken out first.  Places on nodes that there are
 * not are passed over.  0, or -1 with nothing counted when memory runs out. */
int hpcb_usage_add(hpcb_usage_t *usage, const hpcb_usage_job_t *job);

/* Count a job no more.  Nothing happens where it is not counted. */
void hpcb_usage_remove(hpcb_usage_t *usage, uint32_t id);

/*
 * What stands on the node, as policy/fitness.h wants it for a guest that runs program,
 * but for the scale; capacity is the caller's, processors those of the node.  Whose
 * demand is unknown counts on the axes that matter.  An empty description for a node
 * that there is not.
 */
typedef struct {
    bool mem, net;
} hpcb_usage_axes_t;

void hpcb_usage_node(const hpcb_usage_t *usage, size_t node, const hpcb_bw_t *capacity,
                     hpcb_usage_axes_t matters, unsigned processors, uint64_t program,
                     hpcb_fit_node_t *description);

/* Whether a primary that runs program is on the node; one that is suspended is not. */
bool hpcb_usage_has_primary(const hpcb_usage_t *usage, size_t node, uint64_t program);

/* Sums of what primaries and guests are known to use on the node. */
hpcb_bw_t hpcb_usage_known(const hpcb_usage_t *usage, size_t node);

/* How many of the jobs are guests. */
size_t hpcb_usage_guests(const hpcb_usage_t *usage);

/* MiB that are allocated to guests on the node. */
uint64_t hpcb_usage_guest_memory(const hpcb_usage_t *usage, size_t node);

/* MiB that primaries are expected to use on the node: all that is allocated to them,
 * but for those of hpcb_usage_expect. */
uint64_t hpcb_usage_expected(const hpcb_usage_t *usage, size_t node);

/* What is known of a job on one node, and how much it is expected to use there. */
typedef struct {
    bool guest;
    int64_t since;
    uint64_t memory;     /* MiB that are allocated to it there */
    uint64_t peak;       /* bytes, of its demand */
    uint64_t *expected;  /* of a primary, MiB; the table's: see hpcb_usage_expect */
    uint32_t processors; /* allocated to it there */
    uint64_t *cpus;      /* that it computes on, millionths; likewise */
} hpcb_usage_at_t;

/* False where the job has nothing on the node. */
bool hpcb_usage_find(hpcb_usage_t *usage, uint32_t id, size_t node,
                     hpcb_usage_at_t *at);

/* From now on the primary that was found on the node is expected to use so much, in
 * MiB. */
void hpcb_usage_expect(hpcb_usage_t *usage, size_t node, const hpcb_usage_at_t *at,
                       uint64_t expected);

/* All primaries are expected to use what is allocated to them. */
void hpcb_usage_expect_all(hpcb_usage_t *usage);

/* From now on the primary that was found on the node computes on so many CPUs, in
 * millionths. */
void hpcb_usage_compute(hpcb_usage_t *usage, size_t node, const hpcb_usage_at_t *at,
                        uint64_t cpus);

/* All primaries compute on what their demand says. */
void hpcb_usage_compute_all(hpcb_usage_t *usage);

#endif
