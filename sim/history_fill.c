/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Values missing in a history, and parts that were not requested. */
#include "config.h"

#include "sim/history.h"
#include "sim/random.h"

#define STREAM_ASSUME UINT64_C(0xa55)
#define LIMIT_MOST    5 /* times the running time */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void assume_limit(hpcb_sim_past_t *job, double chance,
                         hpcb_sim_assumed_t *assumed)
{
    job->limit_known = job->limit >= 0;
    job->limited = job->limit_known && job->limit <= job->run;
    if (!job->limit_known) {
        job->limit =
            smaller((int64_t)((double)job->run * (1 + (LIMIT_MOST - 1) * chance)),
                    HPCB_SIM_RUN_MAX);
        assumed->limit++;
    }
    job->limit = larger(job->limit, job->run);
}

static void assume(hpcb_sim_past_t *job, hpcb_sim_stream_t chance,
                   int64_t memory_per_cpu, hpcb_sim_assumed_t *assumed)
{
    static const float loads[] = {0.99F, 0.99F, 0.59F, 0.65F, 0.55F, 1.0F};
    uint64_t load = hpcb_sim_below(&chance, sizeof(loads) / sizeof(loads[0]));
    int64_t asked =
        memory_per_cpu * job->cpus / 100 * (50 + (int64_t)hpcb_sim_below(&chance, 51));

    if (job->load < 0) {
        job->load = loads[load];
        assumed->load++;
    }
    if (job->memory_asked < 0) {
        job->memory_asked = larger(asked, job->memory_used);
        assumed->memory_asked++;
    }
    if (job->memory_used < 0) {
        job->memory_used = job->memory_asked;
        assumed->memory_used++;
    }
    assume_limit(job, hpcb_sim_fraction(&chance), assumed);
}

static bool has_place(const hpcb_sim_past_t *job, const hpcb_sim_shape_t *shape)
{
    int64_t each = larger(job->memory_asked / job->cpus, 1);

    return job->cpus <=
           shape->nodes * (uint64_t)smaller(shape->cpus, shape->memory / each);
}

hpcb_sim_assumed_t hpcb_sim_history_assume(hpcb_sim_history_t *history, uint64_t seed,
                                           const hpcb_sim_shape_t *shape)
{
    hpcb_sim_assumed_t assumed = {0};
    size_t kept = 0;

    for (size_t i = 0; i < history->n; i++) {
        hpcb_sim_past_t job = history->job[i];
        hpcb_sim_assumed_t with = assumed;

        if (job.cpus <= shape->nodes * shape->cpus)
            assume(&job, hpcb_sim_stream(seed, STREAM_ASSUME + i),
                   shape->memory / shape->cpus, &with);
        if (!has_place(&job, shape)) {
            history->passed_over[HPCB_SIM_TOO_LARGE]++;
            continue;
        }
        assumed = with;
        history->job[kept++] = job;
    }
    history->n = kept;
    return assumed;
}

/* Return whether anything of the job is left. */
static bool clip(hpcb_sim_past_t *job, int64_t from, int64_t to)
{
    int64_t begin = job->begin >= 0 ? job->begin : job->submit, before;

    if (begin >= to || begin + job->run <= from)
        return false;
    before = larger(from - begin, 0);
    job->submit = larger(job->submit, from);
    job->begin = begin + before;
    job->run = smaller(job->run - before, to - job->begin);
    if (job->limit >= 0)
        job->limit = larger(job->limit - before, 1);
    return true;
}

void hpcb_sim_history_clip(hpcb_sim_history_t *history, int64_t from, int64_t to)
{
    size_t kept = 0;

    for (size_t i = 0; i < history->n; i++) {
        hpcb_sim_past_t job = history->job[i];

        if (clip(&job, from, to))
            history->job[kept++] = job;
        else
            history->passed_over[HPCB_SIM_OUTSIDE]++;
    }
    history->n = kept;
}
