/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Slurm's gang scheduling: slurmctld decides for the whole cluster.  In each slice of
 * time those run that fit, in the order of one list of all jobs; who ran goes to its
 * end.  A job runs on all of its nodes or on none.
 */
#include "config.h"

#include <stdlib.h>

#include "sim/gang_parts.h"

typedef struct {
    uint32_t *list, *next; /* jobs */
    uint64_t *taken;       /* CPUs of each node */
    bool *runs;            /* of seats */
    double *rate;          /* of jobs */
} state_t;

static bool fits(const hpcb_sim_gang_mix_t *mix, const hpcb_sim_gang_job_t *job,
                 const uint64_t *taken)
{
    for (uint32_t i = 0; i < job->count; i++) {
        const hpcb_sim_gang_seat_t *seat = &mix->seat[mix->by_job[job->first + i]];

        if (taken[seat->node] & seat->cpus)
            return false;
    }
    return true;
}

static void start_job(const hpcb_sim_gang_mix_t *mix, const hpcb_sim_gang_job_t *job,
                      state_t *state)
{
    for (uint32_t i = 0; i < job->count; i++) {
        uint32_t place = mix->by_job[job->first + i];

        state->taken[mix->seat[place].node] |= mix->seat[place].cpus;
        state->runs[place] = true;
    }
}

static void elect(const hpcb_sim_gang_mix_t *mix, state_t *state)
{
    uint32_t waiting = 0, ran = 0;

    for (uint32_t i = 0; i < mix->n_nodes; i++)
        state->taken[i] = 0;
    for (uint32_t i = 0; i < mix->n_seats; i++)
        state->runs[i] = false;
    for (uint32_t i = 0; i < mix->n_jobs; i++) {
        const hpcb_sim_gang_job_t *job = &mix->job[state->list[i]];

        if (fits(mix, job, state->taken)) {
            start_job(mix, job, state);
            state->next[ran++] = state->list[i];
        } else {
            state->list[waiting++] = state->list[i];
        }
    }
    for (uint32_t i = 0; i < ran; i++)
        state->list[waiting + i] = state->next[i];
}

static void run_slices(hpcb_sim_gang_run_t *run, state_t *state)
{
    const hpcb_sim_gang_mix_t *mix = run->mix;
    int64_t slice_ns = run->setting->slurm_quantum_ns;
    int64_t steps = hpcb_sim_gang_steps(run->setting, slice_ns);

    for (int64_t number = 0; number < steps; number++) {
        double counted = hpcb_sim_gang_counted(run->setting, slice_ns, number);

        elect(mix, state);
        hpcb_sim_gang_step(run, state->runs, state->rate);
        hpcb_sim_gang_count(run, state->runs, state->rate, counted);
        hpcb_sim_progress_part(run->progress, (double)number / (double)steps, 0);
    }
}

int hpcb_sim_gang_run_slurm(hpcb_sim_gang_run_t *run)
{
    const hpcb_sim_gang_mix_t *mix = run->mix;
    state_t state = {.list = calloc(mix->n_jobs, sizeof(uint32_t)),
                     .next = calloc(mix->n_jobs, sizeof(uint32_t)),
                     .taken = calloc(mix->n_nodes, sizeof(uint64_t)),
                     .runs = calloc(mix->n_seats, sizeof(bool)),
                     .rate = calloc(mix->n_jobs, sizeof(double))};
    int rc = -1;

    if (state.list && state.next && state.taken && state.runs && state.rate) {
        for (uint32_t i = 0; i < mix->n_jobs; i++)
            state.list[i] = i;
        run_slices(run, &state);
        rc = 0;
    }
    free(state.list);
    free(state.next);
    free(state.taken);
    free(state.runs);
    free(state.rate);
    return rc;
}
