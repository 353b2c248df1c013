/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>

#include "sim/shelves.h"

static void put(hpcb_sim_shelves_t *shelves, uint32_t thing, uint32_t level)
{
    uint32_t after = shelves->first[level];

    shelves->level[thing] = level;
    shelves->prev[thing] = HPCB_SIM_NONE;
    shelves->next[thing] = after;
    if (after != HPCB_SIM_NONE)
        shelves->prev[after] = thing;
    shelves->first[level] = thing;
}

int hpcb_sim_shelves_begin(hpcb_sim_shelves_t *shelves, uint32_t things,
                           uint32_t levels)
{
    *shelves = (hpcb_sim_shelves_t){
        .first = calloc(levels, sizeof(uint32_t)),
        .next = calloc(things, sizeof(uint32_t)),
        .prev = calloc(things, sizeof(uint32_t)),
        .level = calloc(things, sizeof(uint32_t)),
        .levels = levels,
        .things = things,
    };
    if (!shelves->first || !shelves->next || !shelves->prev || !shelves->level)
        return -1;
    for (uint32_t i = 0; i < levels; i++)
        shelves->first[i] = HPCB_SIM_NONE;
    for (uint32_t i = things; i > 0; i--)
        put(shelves, i - 1, 0);
    return 0;
}

void hpcb_sim_shelves_move(hpcb_sim_shelves_t *shelves, uint32_t thing, uint32_t level)
{
    uint32_t before = shelves->prev[thing], after = shelves->next[thing];

    if (shelves->level[thing] == level)
        return;
    if (before == HPCB_SIM_NONE)
        shelves->first[shelves->level[thing]] = after;
    else
        shelves->next[before] = after;
    if (after != HPCB_SIM_NONE)
        shelves->prev[after] = before;
    put(shelves, thing, level);
}

void hpcb_sim_shelves_free(hpcb_sim_shelves_t *shelves)
{
    free(shelves->first);
    free(shelves->next);
    free(shelves->prev);
    free(shelves->level);
    *shelves = (hpcb_sim_shelves_t){0};
}
