/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>

#include "sim/places.h"

/* All of a node's memory is part PARTS; the bits of a word number them. */
#define PARTS 63U
#define LOOKS 16 /* at nodes of parts that the need of memory cuts through */

/* The first bit of filled at or above part. */
#define FROM(part) (UINT64_MAX << (part))

static uint32_t part_of(const hpcb_sim_places_t *places, int64_t memory)
{
    if (memory <= 0)
        return 0;
    return memory >= places->memory
               ? PARTS
               : (uint32_t)((double)memory * PARTS / (double)places->memory);
}

static uint32_t cell(uint32_t cpus, uint32_t part)
{
    return cpus * (PARTS + 1) + part;
}

static void count(hpcb_sim_places_t *places, uint32_t node, int sign)
{
    uint32_t at = places->cells.level[node], cpus = at / (PARTS + 1);
    uint64_t bit = UINT64_C(1) << at % (PARTS + 1);

    places->count[at] += (uint32_t)sign;
    if (places->count[at] > 0)
        places->filled[cpus] |= bit;
    else
        places->filled[cpus] &= ~bit;
    places->free_cpus += (uint64_t)((int64_t)sign * places->cpus_of[node]);
    places->free_memory += sign * places->memory_of[node];
}

int hpcb_sim_places_begin(hpcb_sim_places_t *places, uint32_t nodes, uint32_t cpus,
                          int64_t memory)
{
    *places = (hpcb_sim_places_t){.nodes = nodes, .cpus = cpus, .memory = memory};
    places->count = calloc((size_t)cell(cpus + 1, 0), sizeof(*places->count));
    places->filled = calloc((size_t)cpus + 1, sizeof(*places->filled));
    places->cpus_of = calloc(nodes, sizeof(*places->cpus_of));
    places->memory_of = calloc(nodes, sizeof(*places->memory_of));
    if (hpcb_sim_shelves_begin(&places->cells, nodes, cell(cpus + 1, 0)) < 0 ||
        !places->count || !places->filled || !places->cpus_of || !places->memory_of)
        return -1;
    places->count[0] = nodes;
    places->filled[0] = 1;
    for (uint32_t i = nodes; i > 0; i--)
        hpcb_sim_places_set(places, i - 1, cpus, memory);
    return 0;
}

void hpcb_sim_places_free(hpcb_sim_places_t *places)
{
    hpcb_sim_shelves_free(&places->cells);
    free(places->count);
    free(places->filled);
    free(places->cpus_of);
    free(places->memory_of);
    *places = (hpcb_sim_places_t){0};
}

void hpcb_sim_places_set(hpcb_sim_places_t *places, uint32_t node, uint32_t cpus,
                         int64_t memory)
{
    count(places, node, -1);
    places->cpus_of[node] = cpus;
    places->memory_of[node] = memory > 0 ? memory : 0;
    hpcb_sim_shelves_move(&places->cells, node, cell(cpus, part_of(places, memory)));
    count(places, node, 1);
}

static uint32_t give(uint32_t cpus, int64_t memory, int64_t each)
{
    int64_t most = each > 0 ? memory / each : cpus;

    return most < 0 ? 0 : most < cpus ? (uint32_t)most : cpus;
}

uint32_t hpcb_sim_places_gives(const hpcb_sim_places_t *places, uint32_t node,
                               int64_t each)
{
    return give(places->cpus_of[node], places->memory_of[node], each);
}

/* Every node of the part has at least, and less than one KiB above at most, so much. */
static int64_t least(const hpcb_sim_places_t *places, uint32_t part)
{
    return (int64_t)((double)places->memory * part / PARTS);
}

static int64_t most(const hpcb_sim_places_t *places, uint32_t part)
{
    return part == PARTS ? places->memory : least(places, part + 1) + 1;
}

/* The sum over nodes of cells where the need of memory decides, one by one. */
static uint64_t sum_exactly(const hpcb_sim_places_t *places, uint64_t wanted,
                            int64_t each)
{
    uint64_t sum = 0;

    for (uint32_t cpus = places->cpus; cpus > 0; cpus--) {
        for (uint64_t left = places->filled[cpus]; left; left &= left - 1) {
            uint32_t part = (uint32_t)__builtin_ctzll(left), at = cell(cpus, part);
            uint32_t low = give(cpus, least(places, part), each);

            if (low == give(cpus, most(places, part), each)) {
                sum += (uint64_t)low * places->count[at];
                continue;
            }
            for (uint32_t node = places->cells.first[at];
                 node != HPCB_SIM_NONE && sum < wanted; node = places->cells.next[node])
                sum += hpcb_sim_places_gives(places, node, each);
        }
    }
    return sum;
}

bool hpcb_sim_places_fit(const hpcb_sim_places_t *places, uint32_t cpus, int64_t each)
{
    int64_t from[PARTS + 1], to[PARTS + 1];
    uint64_t low = 0, high = 0;

    if (cpus > places->free_cpus || each * cpus > places->free_memory)
        return false;
    for (uint32_t part = 0; part <= PARTS; part++) {
        from[part] = each > 0 ? least(places, part) / each : places->cpus;
        to[part] = each > 0 ? most(places, part) / each : places->cpus;
    }
    for (uint32_t free = places->cpus; free > 0; free--) {
        for (uint64_t left = places->filled[free]; left; left &= left - 1) {
            uint32_t part = (uint32_t)__builtin_ctzll(left);
            uint64_t nodes = places->count[cell(free, part)];

            low += nodes * (uint64_t)(from[part] < free ? from[part] : free);
            high += nodes * (uint64_t)(to[part] < free ? to[part] : free);
        }
        if (low >= cpus)
            return true;
    }
    return high >= cpus && sum_exactly(places, cpus, each) >= cpus;
}

/* The first node of a cell that has so much memory, of a few. */
static uint32_t look(const hpcb_sim_places_t *places, uint32_t at, int64_t memory,
                     unsigned looks)
{
    uint32_t node = places->cells.first[at];

    while (node != HPCB_SIM_NONE && places->memory_of[node] < memory)
        node = looks-- > 0 ? places->cells.next[node] : HPCB_SIM_NONE;
    return node;
}

static uint32_t find_whole(const hpcb_sim_places_t *places, uint32_t cpus,
                           int64_t memory, unsigned looks)
{
    uint64_t enough = FROM(part_of(places, memory));
    uint32_t found = HPCB_SIM_NONE;

    for (uint32_t free = cpus; free <= places->cpus && found == HPCB_SIM_NONE; free++)
        for (uint64_t left = places->filled[free] & enough;
             left && found == HPCB_SIM_NONE; left &= left - 1)
            found = look(places, cell(free, (uint32_t)__builtin_ctzll(left)), memory,
                         looks);
    return found;
}

/* The node that gives most, or nearly: the first of each cell speaks for it. */
static uint32_t find_most(const hpcb_sim_places_t *places, int64_t each)
{
    uint32_t found = HPCB_SIM_NONE, best = 0;

    for (uint32_t free = places->cpus; free > best; free--) {
        for (uint64_t left = places->filled[free]; left; left &= left - 1) {
            uint32_t part = (uint32_t)__builtin_ctzll(left);
            uint32_t node = places->cells.first[cell(free, part)];
            uint32_t gives = hpcb_sim_places_gives(places, node, each);

            if (gives > best) {
                best = gives;
                found = node;
            }
        }
    }
    return found != HPCB_SIM_NONE ? found : find_whole(places, 1, each, places->nodes);
}

uint32_t hpcb_sim_places_find(const hpcb_sim_places_t *places, uint32_t cpus,
                              int64_t each)
{
    uint32_t found = HPCB_SIM_NONE;
    int64_t memory = each * cpus;

    if (memory <= places->memory)
        found = find_whole(places, cpus, memory, LOOKS);
    if (found == HPCB_SIM_NONE && memory <= places->memory)
        found = find_whole(places, cpus, memory, places->nodes);
    return found != HPCB_SIM_NONE ? found : find_most(places, each);
}
