/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Nodes by what Slurm could still promise a primary there: free CPUs and free memory.
 * Whether a job fits, and where, is found by counts of nodes in cells of that plane, so
 * that it does not depend on how many nodes there are.  Only nodes of a cell that the
 * job's need of memory cuts through are looked at one by one.
 */
#ifndef HPCB_SIM_PLACES_H
#define HPCB_SIM_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/shelves.h"

typedef struct {
    uint32_t nodes, cpus; /* of so many CPUs, all alike */
    int64_t memory;       /* KiB, as everywhere here */
    uint64_t free_cpus;
    int64_t free_memory;
    hpcb_sim_shelves_t cells; /* level: free CPUs x parts of memory */
    uint32_t *count;          /* nodes of each cell */
    uint64_t *filled;         /* of each number of free CPUs: the parts with nodes */
    uint32_t *cpus_of;        /* free, of each node */
    int64_t *memory_of;
} hpcb_sim_places_t;

/* Nodes on which all is free.  0, or -1 with errno.  Free it in any case. */
int hpcb_sim_places_begin(hpcb_sim_places_t *places, uint32_t nodes, uint32_t cpus,
                          int64_t memory);
void hpcb_sim_places_free(hpcb_sim_places_t *places);

/* So much is free on the node now; less than none is none. */
void hpcb_sim_places_set(hpcb_sim_places_t *places, uint32_t node, uint32_t cpus,
                         int64_t memory);

/* What the node can give a job that wants so much memory for each of its CPUs. */
uint32_t hpcb_sim_places_gives(const hpcb_sim_places_t *places, uint32_t node,
                               int64_t each);

/* Whether all nodes together have room for so many CPUs with so much memory each. */
bool hpcb_sim_places_fit(const hpcb_sim_places_t *places, uint32_t cpus, int64_t each);

/*
 * The node for the next part of a job: of those with cpus free CPUs and memory for them
 * one with the fewest.  If no node has so many, one that gives most, or nearly;
 * HPCB_SIM_NONE if none gives any.
 */
uint32_t hpcb_sim_places_find(const hpcb_sim_places_t *places, uint32_t cpus,
                              int64_t each);

#endif
