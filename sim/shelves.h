/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Things (nodes) on shelves by a level: the best for a job is found without a look at
 * the others.  Everything but the beginning is O(1).
 */
#ifndef HPCB_SIM_SHELVES_H
#define HPCB_SIM_SHELVES_H

#include <stdint.h>

#define HPCB_SIM_NONE UINT32_MAX

typedef struct {
    uint32_t *first;               /* of each level, or HPCB_SIM_NONE */
    uint32_t *next, *prev, *level; /* of each thing */
    uint32_t levels, things;
} hpcb_sim_shelves_t;

/* All things on level 0, in their order.  0, or -1 with errno.  Free it in any case. */
int hpcb_sim_shelves_begin(hpcb_sim_shelves_t *shelves, uint32_t things,
                           uint32_t levels);
void hpcb_sim_shelves_free(hpcb_sim_shelves_t *shelves);

/* Put thing on another level, as its first. */
void hpcb_sim_shelves_move(hpcb_sim_shelves_t *shelves, uint32_t thing, uint32_t level);

#endif
