/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>

#include "hpcbd/harm/leavers.h"

bool hpcbd_leavers_has(const hpcbd_leavers_t *leavers, const hpcbd_job_t *guest)
{
    for (size_t i = 0; i < leavers->count; i++)
        if (leavers->of[i].job_id == guest->state.job_id &&
            leavers->of[i].begin_us == guest->state.begin_us)
            return true;
    return false;
}

static void forget(hpcbd_leavers_t *leavers, size_t i)
{
    leavers->count--;
    memmove(&leavers->of[i], &leavers->of[i + 1],
            (leavers->count - i) * sizeof(leavers->of[0]));
}

bool hpcbd_leavers_add(hpcbd_leavers_t *leavers, const hpcbd_job_t *guest)
{
    if (hpcbd_leavers_has(leavers, guest))
        return false;
    if (leavers->count == HPCBD_LEAVERS_MAX)
        forget(leavers, 0);
    leavers->of[leavers->count].job_id = guest->state.job_id;
    leavers->of[leavers->count].begin_us = guest->state.begin_us;
    leavers->count++;
    return true;
}

void hpcbd_leavers_clean(hpcbd_leavers_t *leavers, const hpcbd_registry_t *registry)
{
    for (size_t i = leavers->count; i-- > 0;) {
        const hpcbd_job_t *job = hpcbd_registry_find(registry, leavers->of[i].job_id);

        if (!job || job->state.begin_us != leavers->of[i].begin_us)
            forget(leavers, i);
    }
}
