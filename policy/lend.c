/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/lend.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t subtract_saturating(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

static uint64_t with_margin(uint64_t bytes)
{
    return add_saturating(bytes, bytes / HPCB_LEND_MARGIN);
}

uint64_t hpcb_lend_reserve(const hpcb_lend_reserve_t *reserve, uint64_t real_memory)
{
    if (reserve->percent == 0)
        return reserve->bytes;
    return larger(real_memory / 100 * reserve->percent, HPCB_LEND_RESERVE_MIN);
}

/* In the next HPCB_LEND_HORIZON_SECONDS. */
static uint64_t touches(const hpcb_lend_job_t *job)
{
    uint64_t growth = job->growth > UINT64_MAX / HPCB_LEND_HORIZON_SECONDS
                          ? UINT64_MAX
                          : job->growth * HPCB_LEND_HORIZON_SECONDS;

    return with_margin(larger(add_saturating(job->used, growth), job->peak));
}

uint64_t hpcb_lend_expected(const hpcb_lend_job_t *job, uint64_t settle)
{
    uint64_t expected;

    if (!job->reported || (job->profile == 0 && job->age < settle))
        return larger(job->promised, job->reported ? job->used : 0);
    expected = larger(touches(job), with_margin(job->profile));
    return larger(smaller(expected, job->promised), job->used);
}

uint64_t hpcb_lend_usable(const hpcb_lend_node_t *node)
{
    return smaller(node->real_memory, add_saturating(node->available, node->used));
}

uint64_t hpcb_lend_free(uint64_t usable, uint64_t reserve, uint64_t expected,
                        uint64_t guests)
{
    return subtract_saturating(
        subtract_saturating(subtract_saturating(usable, reserve), expected), guests);
}
