/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Turns as hpcbd gives them: policy/gang on each node, for itself, with the CPUs that
 * the jobs have there.  Quanta have the same numbers on all nodes, and clocks are
 * right.  As in hpcbd/gang/gang.c those that ran in a quantum are measured after the
 * next has been elected.
 *
 *   ours     bandwidth counts, and the collector deals quanta to jobs of several nodes
 *   no_deal  there is no collector: their ids say which quanta they own
 *   order    GangWindow=0, with a collector: what turns alone change
 */
#include "config.h"

#include <stdlib.h>

#include "sim/gang_parts.h"
#include "sim/random.h"

/* Ids of jobs, and numbers of quanta, begin anywhere below these. */
#define IDS    1000000
#define QUANTA (UINT64_C(1) << 33)

#define LOOK 16 /* quanta between two words on progress */

typedef struct {
    hpcb_sim_gang_run_t *run;
    uint64_t first; /* number of the first quantum */
    hpcb_bw_t known;
    hpcb_gang_t *gang;              /* of nodes */
    hpcb_gang_job_t *job;           /* of seats */
    hpcb_fit_sample_t *moved;       /* of seats: in the quantum that ends */
    bool *contends;                 /* of nodes */
    bool *runs, *ran;               /* of seats: in this quantum, in the last one */
    double *rate;                   /* of jobs */
    hpcb_sim_gang_dealer_t *dealer; /* NULL: there is none */
} state_t;

/* ---- a quantum ---- */

static void elect(state_t *state, uint32_t node, uint64_t number)
{
    hpcb_gang_t *gang = &state->gang[node];
    bool selected[HPCB_GANG_JOBS_MAX];
    hpcb_bw_t capacity;

    if (!state->contends[node]) {
        hpcb_gang_rest(gang);
        return;
    }
    capacity = hpcb_gang_capacity(gang, &state->known);
    hpcb_gang_select(gang, &capacity, number, selected);
    hpcb_gang_begin(gang, selected);
}

/* Those that ran in the quantum that has ended. */
static void measure(state_t *state)
{
    for (uint32_t i = 0; i < state->run->mix->n_seats; i++)
        if (state->ran[i])
            hpcb_gang_sample(&state->job[i], &state->moved[i]);
}

static uint64_t bytes(bool senses, double mb_s, double rate)
{
    return senses ? (uint64_t)(mb_s * rate * (double)HPCB_SIM_GANG_MB) : 0;
}

static void move(state_t *state)
{
    const hpcb_sim_gang_setting_t *setting = state->run->setting;
    const hpcb_sim_gang_mix_t *mix = state->run->mix;

    for (uint32_t i = 0; i < mix->n_seats; i++) {
        const hpcb_sim_gang_app_t *app = &mix->job[mix->seat[i].job].app;
        double rate = state->rate[mix->seat[i].job];

        state->moved[i] = (hpcb_fit_sample_t){
            .cpu = bytes(setting->senses_memory, app->memory, rate),
            .net = bytes(setting->senses_network, app->network, rate)};
        state->ran[i] = state->runs[i];
    }
}

static void run_quantum(state_t *state, int64_t step)
{
    const hpcb_sim_gang_mix_t *mix = state->run->mix;
    uint64_t number = state->first + (uint64_t)step;

    if (state->dealer)
        hpcb_sim_gang_deal(state->dealer, number, state->gang, state->job);
    for (uint32_t i = 0; i < mix->n_nodes; i++)
        elect(state, i, number);
    measure(state);
    for (uint32_t i = 0; i < mix->n_seats; i++)
        state->runs[i] = state->job[i].runs;
    hpcb_sim_gang_step(state->run, state->runs, state->rate);
    move(state);
}

static void run_quanta(state_t *state)
{
    hpcb_sim_gang_run_t *run = state->run;
    int64_t quantum_ns = run->setting->quantum_ns;
    int64_t steps = hpcb_sim_gang_steps(run->setting, quantum_ns);

    for (int64_t step = 0; step < steps; step++) {
        run_quantum(state, step);
        hpcb_sim_gang_count(run, state->runs, state->rate,
                            hpcb_sim_gang_counted(run->setting, quantum_ns, step));
        if (step % LOOK == 0)
            hpcb_sim_progress_part(run->progress, (double)step / (double)steps, 0);
    }
}

/* ---- who takes turns ---- */

static void set_up_seat(state_t *state, uint32_t place, uint32_t first_id)
{
    const hpcb_sim_gang_setting_t *setting = state->run->setting;
    const hpcb_sim_gang_mix_t *mix = state->run->mix;
    const hpcb_sim_gang_seat_t *seat = &mix->seat[place];
    hpcb_gang_job_t *job = &state->job[place];

    job->job_id = first_id + seat->job;
    job->wide = mix->job[seat->job].nodes > 1;
    job->mem_known = setting->senses_memory;
    job->net_known = setting->senses_network;
    for (uint64_t left = seat->cpus; left; left &= left - 1)
        hpcb_cpus_add(&job->cpus, (unsigned)__builtin_ctzll(left));
    hpcb_gang_add(&state->gang[seat->node], job);
}

static void set_up(state_t *state)
{
    const hpcb_sim_gang_run_t *run = state->run;
    hpcb_sim_stream_t chance = hpcb_sim_stream(run->seed, 4);
    uint32_t first_id = 1 + (uint32_t)hpcb_sim_below(&chance, IDS);

    state->first = 1 + hpcb_sim_below(&chance, QUANTA);
    state->known =
        (hpcb_bw_t){(uint64_t)(run->setting->known_memory * (double)HPCB_SIM_GANG_MB),
                    (uint64_t)(run->setting->known_network * (double)HPCB_SIM_GANG_MB)};
    for (uint32_t i = 0; i < run->mix->n_nodes; i++)
        state->gang[i].window =
            run->regime == HPCB_SIM_GANG_ORDER ? 0 : (unsigned)run->setting->window;
    for (uint32_t i = 0; i < run->mix->n_seats; i++)
        set_up_seat(state, i, first_id);
    for (uint32_t i = 0; i < run->mix->n_nodes; i++)
        state->contends[i] = hpcb_gang_contends(&state->gang[i]);
}

static void clean_up(state_t *state)
{
    hpcb_sim_gang_dealer_free(state->dealer);
    free(state->gang);
    free(state->job);
    free(state->moved);
    free(state->contends);
    free(state->runs);
    free(state->ran);
    free(state->rate);
}

int hpcb_sim_gang_run_turns(hpcb_sim_gang_run_t *run)
{
    const hpcb_sim_gang_mix_t *mix = run->mix;
    bool deals = run->regime != HPCB_SIM_GANG_NO_DEAL;
    state_t state = {.run = run,
                     .gang = calloc(mix->n_nodes, sizeof(hpcb_gang_t)),
                     .job = calloc(mix->n_seats, sizeof(hpcb_gang_job_t)),
                     .moved = calloc(mix->n_seats, sizeof(hpcb_fit_sample_t)),
                     .contends = calloc(mix->n_nodes, sizeof(bool)),
                     .runs = calloc(mix->n_seats, sizeof(bool)),
                     .ran = calloc(mix->n_seats, sizeof(bool)),
                     .rate = calloc(mix->n_jobs, sizeof(double))};
    bool ready = state.gang && state.job && state.moved && state.contends &&
                 state.runs && state.ran && state.rate;

    if (ready) {
        set_up(&state);
        if (deals)
            state.dealer = hpcb_sim_gang_dealer_new(run, state.first);
        ready = !deals || state.dealer;
    }
    if (ready)
        run_quanta(&state);
    clean_up(&state);
    return ready ? 0 : -1;
}
