/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Nodes by their resources for primaries: free CPUs and free memory.  Counts of nodes
 * in cells of that plane show whether a job fits, and where, independent of the number
 * of nodes.  Only nodes in cells that the job's memory divides are checked one by one.
 */
#ifndef HPCB_SIM_PLACES_H
#define HPCB_SIM_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/shelves.h"

typedef struct {
    uint32_t nodes, cpus; /* all nodes have so many CPUs */
    int64_t memory;       /* KiB, as everywhere here */
    uint64_t free_cpus;
    int64_t free_memory;
    hpcb_sim_shelves_t cells; /* level: free CPUs x parts of memory */
    uint32_t *count;          /* nodes of each cell */
    uint64_t *filled;         /* of each number of free CPUs: the parts with nodes */
    uint32_t *cpus_of;        /* free ones of each node */
    int64_t *memory_of;
} hpcb_sim_places_t;

/* Begin with all resources free.  Return 0, or -1 with errno.  Free it in any case. */
int hpcb_sim_places_begin(hpcb_sim_places_t *places, uint32_t nodes, uint32_t cpus,
                          int64_t memory);
void hpcb_sim_places_free(hpcb_sim_places_t *places);

/* Set the free resources of a node; negative memory counts as 0. */
void hpcb_sim_places_set(hpcb_sim_places_t *places, uint32_t node, uint32_t cpus,
                         int64_t memory);

/* Return the number of CPUs of the node for a job that needs so much memory per CPU. */
uint32_t hpcb_sim_places_gives(const hpcb_sim_places_t *places, uint32_t node,
                               int64_t each);

/* Return whether all nodes together have so many CPUs with so much memory each. */
bool hpcb_sim_places_fit(const hpcb_sim_places_t *places, uint32_t cpus, int64_t each);

/*
 * Return the node for the next part of a job: of those with cpus free CPUs and memory
 * for them one with the fewest.  If there is none, one with the most, or nearly;
 * HPCB_SIM_NONE if no node has any.
 */
uint32_t hpcb_sim_places_find(const hpcb_sim_places_t *places, uint32_t cpus,
                              int64_t each);

#endif
