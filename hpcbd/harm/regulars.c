/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "hpcbd/harm/regulars.h"

/* Slurm starts the next task of an array within seconds. */
#define AWAY_NS UINT64_C(40000000000)

static bool has(const hpcbd_regulars_t *known, uint64_t program)
{
    for (size_t i = 0; i < known->count; i++)
        if (program && known->programs[i] == program)
            return true;
    return false;
}

/* Set the present members.  Return whether all of them run programs that ran before. */
static bool take(hpcbd_regulars_t *regulars, const hpcbd_job_t *const *guests,
                 size_t count)
{
    hpcbd_regulars_t now = {.count = 0};
    bool all = true;

    for (size_t i = 0; i < count && i < HPCBD_REGULARS_MAX; i++) {
        now.programs[now.count++] = guests[i]->guest_program;
        all &= has(regulars, guests[i]->guest_program);
    }
    *regulars = now;
    return all && count <= HPCBD_REGULARS_MAX;
}

bool hpcbd_regulars_stay(hpcbd_regulars_t *regulars, const hpcbd_job_t *const *guests,
                         size_t count, bool same, uint64_t now_ns)
{
    bool recent = regulars->seen_ns && now_ns - regulars->seen_ns <= AWAY_NS;
    bool regular;

    if (count == 0)
        return recent;
    regular = take(regulars, guests, count);
    regulars->seen_ns = now_ns;
    return same || (recent && regular);
}
