/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "hpcbd/harm/company.h"
#include "hpcbd/harm/regulars.h"

/* Slurm starts the next task of an array within seconds. */
#define AWAY_NS UINT64_C(40000000000)

static uint64_t program_of(const hpcbd_regulars_t *known, const char *state_dir,
                           const hpcbd_job_t *guest)
{
    for (size_t i = 0; i < known->count; i++)
        if (known->of[i].job_id == guest->state.job_id &&
            known->of[i].begin_us == guest->state.begin_us)
            return known->of[i].program;
    return guest->marked ? 0 : hpcbd_company_program(state_dir, &guest->state);
}

static bool has(const hpcbd_regulars_t *known, uint64_t program)
{
    for (size_t i = 0; i < known->count; i++)
        if (program && known->of[i].program == program)
            return true;
    return false;
}

/* Who is there now.  Return whether all of them run what ran before. */
static bool take(hpcbd_regulars_t *regulars, const char *state_dir,
                 const hpcbd_job_t *const *guests, size_t count)
{
    hpcbd_regulars_t now = {.count = 0};
    bool all = true;

    for (size_t i = 0; i < count && i < HPCBD_REGULARS_MAX; i++) {
        uint64_t program = program_of(regulars, state_dir, guests[i]);

        now.of[now.count].job_id = guests[i]->state.job_id;
        now.of[now.count].begin_us = guests[i]->state.begin_us;
        now.of[now.count++].program = program;
        all &= has(regulars, program);
    }
    *regulars = now;
    return all && count <= HPCBD_REGULARS_MAX;
}

bool hpcbd_regulars_stay(hpcbd_regulars_t *regulars, const char *state_dir,
                         const hpcbd_job_t *const *guests, size_t count, bool same,
                         uint64_t now_ns)
{
    bool recent = regulars->seen_ns && now_ns - regulars->seen_ns <= AWAY_NS;
    bool regular;

    if (count == 0)
        return recent;
    regular = take(regulars, state_dir, guests, count);
    regulars->seen_ns = now_ns;
    return same || (recent && regular);
}
