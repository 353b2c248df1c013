/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Progress of jobs while the set of running ones is constant.
 *
 * Those that run on a node share its memory and network bandwidth in proportion to
 * their demand; a job with less than its demand is slower by that factor.  A job
 * proceeds at the speed of its slowest process, and not at all while one of its
 * processes has no turn: the others sleep then, without traffic.
 */
#include "config.h"

#include "sim/gang_parts.h"

int64_t hpcb_sim_gang_steps(const hpcb_sim_gang_setting_t *setting, int64_t step_ns)
{
    return (int64_t)((setting->settle + setting->seconds) / ((double)step_ns / 1e9));
}

double hpcb_sim_gang_counted(const hpcb_sim_gang_setting_t *setting, int64_t step_ns,
                             int64_t number)
{
    double length = (double)step_ns / 1e9, begin = (double)number * length;

    if (begin >= setting->settle)
        return length;
    return begin + length > setting->settle ? begin + length - setting->settle : 0;
}

void hpcb_sim_gang_add(hpcb_sim_gang_load_t *load, const hpcb_sim_gang_app_t *app)
{
    load->memory += app->memory;
    load->network += app->network;
}

double hpcb_sim_gang_rate(const hpcb_sim_gang_setting_t *setting,
                          const hpcb_sim_gang_load_t *load,
                          const hpcb_sim_gang_app_t *app)
{
    double rate = 1;

    if (app->memory > 0 && load->memory > setting->memory)
        rate = setting->memory / load->memory;
    if (app->network > 0 && load->network > setting->network &&
        setting->network / load->network < rate)
        rate = setting->network / load->network;
    return rate;
}

static bool is_whole(const hpcb_sim_gang_mix_t *mix, const hpcb_sim_gang_job_t *job,
                     const bool *runs)
{
    for (uint32_t i = 0; i < job->count; i++)
        if (!runs[mix->by_job[job->first + i]])
            return false;
    return job->count > 0;
}

void hpcb_sim_gang_step(const hpcb_sim_gang_run_t *run, const bool *runs, double *rate)
{
    const hpcb_sim_gang_mix_t *mix = run->mix;

    for (uint32_t i = 0; i < mix->n_jobs; i++)
        rate[i] = is_whole(mix, &mix->job[i], runs) ? 1 : 0;
    for (uint32_t node = 0; node < mix->n_nodes; node++) {
        uint32_t first = mix->node_first[node], end = mix->node_first[node + 1];
        hpcb_sim_gang_load_t load = {0};

        for (uint32_t i = first; i < end; i++)
            if (rate[mix->seat[i].job] > 0)
                hpcb_sim_gang_add(&load, &mix->job[mix->seat[i].job].app);
        for (uint32_t i = first; i < end; i++) {
            uint32_t job = mix->seat[i].job;
            double here = hpcb_sim_gang_rate(run->setting, &load, &mix->job[job].app);

            rate[job] = here < rate[job] ? here : rate[job];
        }
    }
}

static void longest(double *most, double *since, bool now, double seconds)
{
    *since = now ? 0 : *since + seconds;
    *most = *since > *most ? *since : *most;
}

static void count_node(hpcb_sim_gang_run_t *run, uint32_t node, const bool *runs,
                       const double *rate, double seconds)
{
    const hpcb_sim_gang_mix_t *mix = run->mix;
    hpcb_sim_gang_figures_t *figures = &run->figures;
    uint64_t all = 0, used = 0, split = 0;

    for (uint32_t i = mix->node_first[node]; i < mix->node_first[node + 1]; i++) {
        const hpcb_sim_gang_seat_t *seat = &mix->seat[i];

        all |= seat->cpus;
        used |= runs[i] ? seat->cpus : 0;
        split |= runs[i] && rate[seat->job] <= 0 ? seat->cpus : 0;
        longest(mix->job[seat->job].nodes > 1 ? &figures->wide_wait : &figures->wait,
                &figures->waits[i], runs[i], seconds);
    }
    figures->cpu_seconds += seconds * __builtin_popcountll(all);
    figures->idle += seconds * __builtin_popcountll(all & ~used);
    figures->split += seconds * __builtin_popcountll(split);
}

void hpcb_sim_gang_count(hpcb_sim_gang_run_t *run, const bool *runs, const double *rate,
                         double seconds)
{
    hpcb_sim_gang_figures_t *figures = &run->figures;

    for (uint32_t node = 0; node < run->mix->n_nodes; node++)
        count_node(run, node, runs, rate, seconds);
    for (uint32_t i = 0; i < run->mix->n_jobs; i++) {
        figures->progress[i] += rate[i] * seconds;
        if (run->mix->job[i].nodes < 2)
            continue;
        figures->wide_turns += rate[i] > 0 ? seconds : 0;
        longest(&figures->wide_gap, &figures->gaps[i], rate[i] > 0, seconds);
    }
}
