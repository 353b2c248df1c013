/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Regimes without our turns: Linux as the paper's comparison describes it (linux,
 * linux_polling), and all four at once (shared).
 */
#include "config.h"

#include <string.h>

#include "sim/gang_parts.h"
#include "sim/random.h"

#define APPS HPCB_SIM_GANG_APPS

/* ---- linux ---- */

/* An order of the applications by chance: the first two share one processor. */
static void shuffle(hpcb_sim_stream_t *chance, unsigned order[APPS])
{
    for (unsigned i = 0; i < APPS; i++)
        order[i] = i;
    for (unsigned i = APPS - 1; i > 0; i--) {
        unsigned j = (unsigned)hpcb_sim_below(chance, i + 1), swap = order[i];

        order[i] = order[j];
        order[j] = swap;
    }
}

/* Choose which of each processor's two jobs runs in a quantum: the processors are not
 * in step. */
static void pick(hpcb_sim_stream_t *chance, const unsigned order[APPS], bool runs[APPS])
{
    memset(runs, 0, APPS * sizeof(*runs));
    for (unsigned i = 0; i < APPS; i += 2)
        runs[order[i + hpcb_sim_below(chance, 2)]] = true;
}

/* On one node; those that do not run there get on nowhere. */
static void slow(const hpcb_sim_gang_run_t *run, const bool runs[APPS],
                 double least[APPS])
{
    hpcb_sim_gang_load_t load = {0};

    for (unsigned i = 0; i < APPS; i++)
        if (runs[i])
            hpcb_sim_gang_add(&load, &run->mix->job[i].app);
    for (unsigned i = 0; i < APPS; i++) {
        double rate =
            runs[i] ? hpcb_sim_gang_rate(run->setting, &load, &run->mix->job[i].app)
                    : 0;

        least[i] = rate < least[i] ? rate : least[i];
    }
}

static bool is_any(const double rate[APPS])
{
    return rate[0] > 0 || rate[1] > 0 || rate[2] > 0 || rate[3] > 0;
}

void hpcb_sim_gang_run_linux(hpcb_sim_gang_run_t *run)
{
    const hpcb_sim_gang_setting_t *setting = run->setting;
    bool together = run->regime == HPCB_SIM_GANG_LINUX;
    hpcb_sim_stream_t chance = hpcb_sim_stream(run->seed, together ? 1 : 2);
    double quantum = (double)setting->linux_quantum_ns / 1e9;
    uint32_t nodes = together ? 1 : run->mix->nodes;

    /* Bound anew in each quantum, so that one binding does not decide the result: the
     * mean over all bindings. */
    for (int64_t left = (int64_t)(setting->seconds / quantum); left > 0; left--) {
        double least[APPS] = {1, 1, 1, 1};

        for (uint32_t node = 0; node < nodes && is_any(least); node++) {
            unsigned order[APPS];
            bool runs[APPS];

            shuffle(&chance, order);
            pick(&chance, order, runs);
            slow(run, runs, least);
        }
        for (unsigned i = 0; i < APPS; i++)
            run->figures.progress[i] += least[i] * quantum;
    }
}

/* ---- shared ---- */

/* Share the time of the CPUs so that no process has more than it wants, and none that
 * wants more has less than others. */
static void share_time(const double wants[APPS], double processors, double time[APPS])
{
    bool has[APPS] = {false};

    for (unsigned left = APPS; left > 0; left--) {
        unsigned least = APPS;

        for (unsigned i = 0; i < APPS; i++)
            if (!has[i] && (least == APPS || wants[i] < wants[least]))
                least = i;
        time[least] =
            wants[least] < processors / left ? wants[least] : processors / left;
        processors -= time[least];
        has[least] = true;
    }
}

void hpcb_sim_gang_run_shared(hpcb_sim_gang_run_t *run)
{
    const hpcb_sim_gang_setting_t *setting = run->setting;
    const hpcb_sim_gang_job_t *job = run->mix->job;
    double wants[APPS], time[APPS] = {0}, rate[APPS], network = 0, memory = 0;

    for (unsigned i = 0; i < APPS; i++)
        network += job[i].app.network;
    for (unsigned i = 0; i < APPS; i++) {
        rate[i] = job[i].app.network > 0 && network > setting->network
                      ? setting->network / network
                      : 1;
        wants[i] = job[i].app.polls ? 1 : job[i].app.cpu * rate[i];
    }
    share_time(wants, (double)setting->processors, time);
    for (unsigned i = 0; i < APPS; i++) {
        if (time[i] / job[i].app.cpu < rate[i])
            rate[i] = time[i] / job[i].app.cpu;
        memory += job[i].app.memory * rate[i];
    }
    for (unsigned i = 0; i < APPS; i++) {
        if (memory > setting->memory && job[i].app.memory > 0)
            rate[i] *= setting->memory / memory;
        run->figures.progress[i] = rate[i] * setting->seconds;
    }
}
