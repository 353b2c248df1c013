/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The paper's own election (Koukis and Koziris, section 4): any two of the applications
 * may run together, chosen by the traffic of each in the last w quanta and by the
 * nodes' votes.  hpcbd elects differently: jobs are bound to CPUs, and nodes do not
 * vote (gang_turns.c).
 */
#include "config.h"

#include <string.h>

#include "sim/gang_parts.h"

#define APPS HPCB_SIM_GANG_APPS

typedef struct {
    unsigned list[APPS];
    hpcb_fit_sample_t sample[APPS][HPCB_GANG_WINDOW_MAX]; /* the latest first */
    unsigned samples[APPS];
} membus_t;

/* The list of algorithm 1: who ran goes to its end. */
static void rotate(unsigned list[APPS], const bool ran[APPS])
{
    unsigned now[APPS] = {0}, n = 0;

    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < APPS; i++)
            if (ran[list[i]] == (pass == 1))
                now[n++] = list[i];
    memcpy(list, now, sizeof(now));
}

static void remember(membus_t *membus, const hpcb_sim_gang_run_t *run,
                     const double rate[APPS])
{
    for (unsigned i = 0; i < APPS; i++) {
        const hpcb_sim_gang_app_t *app = &run->mix->job[i].app;

        if (rate[i] <= 0)
            continue;
        memmove(&membus->sample[i][1], &membus->sample[i][0],
                (HPCB_GANG_WINDOW_MAX - 1) * sizeof(membus->sample[i][0]));
        membus->sample[i][0] = (hpcb_fit_sample_t){
            .cpu = (uint64_t)(app->memory * rate[i]) * HPCB_SIM_GANG_MB,
            .net = (uint64_t)(app->network * rate[i]) * HPCB_SIM_GANG_MB,
        };
        if (membus->samples[i] < (unsigned)run->setting->window)
            membus->samples[i]++;
    }
}

/* One node's selection, and with the votes of all that of the cluster: the nodes are
 * alike, so one vote says what all say. */
static void elect(const hpcb_sim_gang_run_t *run, const membus_t *membus,
                  bool runs[APPS])
{
    const hpcb_sim_gang_setting_t *setting = run->setting;
    hpcb_bw_t capacity = {(uint64_t)setting->memory * HPCB_SIM_GANG_MB,
                          (uint64_t)setting->known_network * HPCB_SIM_GANG_MB};
    hpcb_fit_app_t apps[APPS];
    uint32_t votes[APPS] = {0};
    bool selected[APPS], elected[APPS];

    for (unsigned i = 0; i < APPS; i++) {
        unsigned app = membus->list[i];

        apps[i] = (hpcb_fit_app_t){
            .use = hpcb_fit_predict(membus->sample[app], membus->samples[app]),
            .processors = 1,
        };
    }
    hpcb_fit_select(apps, APPS, &capacity, (unsigned)setting->processors, selected);
    hpcb_fit_add_votes(votes, selected, APPS);
    hpcb_fit_elect(apps, votes, APPS, (unsigned)setting->processors, elected);
    for (unsigned i = 0; i < APPS; i++)
        runs[membus->list[i]] = elected[i];
}

void hpcb_sim_gang_run_paper(hpcb_sim_gang_run_t *run)
{
    int64_t quantum_ns = run->setting->quantum_ns;
    int64_t steps = hpcb_sim_gang_steps(run->setting, quantum_ns);
    membus_t membus = {.list = {0, 1, 2, 3}};

    for (int64_t number = 0; number < steps; number++) {
        double counted = hpcb_sim_gang_counted(run->setting, quantum_ns, number);
        bool runs[APPS] = {false};
        double rate[APPS] = {0};

        elect(run, &membus, runs);
        hpcb_sim_gang_step(run, runs, rate);
        hpcb_sim_gang_count(run, runs, rate, counted);
        remember(&membus, run, rate);
        rotate(membus.list, runs);
    }
}
