/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/tag.h"
#include "select/demand.h"

#define SLOTS 16384u

typedef struct {
    uint32_t id; /* 0: empty */
    uint32_t uid;
    uint64_t hash;
    hpcb_demand_t demand;
} slot_t;

static slot_t slots[SLOTS];

static hpcb_demand_t read_demand(uint32_t uid, const char *comment)
{
    hpcb_tag_demand_t tag;
    hpcb_demand_t demand = {.mem_known = false};

    hpcb_tag_read(comment, &tag);
    demand.mem_known = tag.mem > 0;
    demand.use.mem = tag.mem;
    demand.net_known = tag.net > 0;
    demand.use.net = tag.net;
    demand.cpu_known = tag.cpu > 0;
    demand.cpu = tag.cpu;
    demand.learned = tag.learned;
    demand.spread = tag.spread;
    demand.peak = tag.peak;
    if (*tag.program)
        demand.program = hpcb_fit_program(uid, tag.program);
    return demand;
}

/* FNV-1a */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

const hpcb_demand_t *hpcb_demand_of(uint32_t id, uint32_t uid, const char *comment)
{
    slot_t *slot = &slots[id % SLOTS];
    uint64_t hash = hash_text(comment);

    if (slot->id != id || slot->uid != uid || slot->hash != hash)
        *slot = (slot_t){id, uid, hash, read_demand(uid, comment)};
    return &slot->demand;
}
