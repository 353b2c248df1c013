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
    uint64_t program; /* hpcb_fit_program, 0 = unknown */
} hpcb_demand_t;

typedef struct {
    uint32_t node;
    uint32_t processors;
    uint64_t memory; /* MiB that are allocated to it */
} hpcb_place_on_t;

typedef struct {
    uint32_t id; /* never 0 */
    bool guest;
    hpcb_demand_t demand;
    size_t n_places;
    const hpcb_place_on_t *places; /* copied */
} hpcb_usage_job_t;

/* Nobody on nodes 0 to nodes - 1.  NULL when memory runs out. */
hpcb_usage_t *hpcb_usage_new(size_t nodes);
void hpcb_usage_free(hpcb_usage_t *usage);

/* Count a job; one of the same id is taken out first.  Places on nodes that there are
 * not are passed over.  0, or -1 with nothing counted when memory runs out. */
int hpcb_usage_add(hpcb_usage_t *usage, const hpcb_usage_job_t *job);

/* Count a job no more.  Nothing happens where it is not counted. */
void hpcb_usage_remove(hpcb_usage_t *usage, uint32_t id);

size_t hpcb_usage_count(const hpcb_usage_t *usage);

/*
 * What stands on the node, as policy/fitness.h wants it for a guest that runs program;
 * capacity is the caller's, processors those of the node.  An empty description for a
 * node that there is not.
 */
void hpcb_usage_node(const hpcb_usage_t *usage, size_t node, const hpcb_bw_t *capacity,
                     unsigned processors, uint64_t program,
                     hpcb_fit_node_t *description);

/* MiB that guests have on the node. */
uint64_t hpcb_usage_guest_memory(const hpcb_usage_t *usage, size_t node);

#endif
