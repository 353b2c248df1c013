/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "tests/policy/balance_model.h"

#include <string.h>

#include "policy/share.h"

#define TOP 1000000

void model_machine(model_t *model, unsigned packages, unsigned cores, unsigned threads)
{
    unsigned n = 0;

    for (unsigned p = 0; p < packages; p++)
        for (unsigned c = 0; c < cores; c++)
            for (unsigned t = 0; t < threads; t++, n++)
                model->places.place[n] = (hpcb_balance_place_t){
                    .cpu = (uint16_t)n,
                    .core = (uint16_t)(p * cores + c),
                    .package = (uint16_t)p,
                };
    model->places.n = n;
}

static double noisy(model_t *model, double work)
{
    model->seed = model->seed * 1664525U + 1013904223U;
    return work * (1 + model->noise * ((model->seed >> 8) / 8388608.0 - 1));
}

static bool is_on(const model_t *model, const hpcb_balance_t *balance, unsigned rank,
                  unsigned with)
{
    const hpcb_balance_place_t *a = &model->places.place[balance->rank[rank].place];
    const hpcb_balance_place_t *b = &model->places.place[balance->rank[with].place];

    return model->kind == MODEL_SMT ? a->core == b->core : a->cpu == b->cpu;
}

/* The part of its CPU that rank has while those run that are in runs. */
static double part(const model_t *model, const hpcb_balance_t *balance, unsigned rank,
                   const bool runs[])
{
    unsigned highest = 0;
    double sum = 0;

    for (unsigned i = 0; i < model->n; i++)
        if (runs[i] && is_on(model, balance, rank, i) &&
            balance->rank[i].priority > highest)
            highest = balance->rank[i].priority;
    for (unsigned i = 0; i < model->n; i++)
        if (runs[i] && is_on(model, balance, rank, i))
            sum += hpcb_share_weight(highest - balance->rank[i].priority, TOP);
    return hpcb_share_weight(highest - balance->rank[rank].priority, TOP) / sum;
}

/* Of a thread beside another, alone 1: as table 2.6 and figures 2.2 and 2.3 have it for
 * threads that compute, roughly; by 5 + the difference of priorities. */
static const double smt_speeds[] = {0.1, 0.12, 0.15, 0.25, 0.42, 0.6,
                                    0.8, 0.86, 0.87, 0.88, 0.88};

static double smt_speed(const model_t *model, const hpcb_balance_t *balance,
                        unsigned rank)
{
    for (unsigned i = 0; i < model->n; i++)
        if (is_on(model, balance, rank, i) &&
            balance->rank[i].place != balance->rank[rank].place)
            return smt_speeds[5 + balance->rank[rank].priority -
                              balance->rank[i].priority];
    return 1;
}

/* Ranks of a thread share its time and sleep while they wait. */
static void run_threads(const model_t *model, const hpcb_balance_t *balance,
                        const double work[], double time[])
{
    for (unsigned i = 0; i < model->n; i++) {
        time[i] = 0;
        for (unsigned j = 0; j < model->n; j++)
            if (balance->rank[i].place == balance->rank[j].place)
                time[i] += work[j] < work[i] ? work[j] : work[i];
        time[i] /= smt_speed(model, balance, i);
    }
}

static void run_polling(const model_t *model, const hpcb_balance_t *balance,
                        const double work[], double time[])
{
    bool all[HPCB_BALANCE_RANKS];

    memset(all, true, sizeof(all));
    for (unsigned i = 0; i < model->n; i++)
        time[i] = work[i] / part(model, balance, i, all);
}

/* From the end of one rank's work to the next one's. */
static void run_sleeping(const model_t *model, const hpcb_balance_t *balance,
                         const double work[], double time[])
{
    bool runs[HPCB_BALANCE_RANKS];
    double left[HPCB_BALANCE_RANKS], speed[HPCB_BALANCE_RANKS] = {0}, now = 0;

    for (unsigned i = 0; i < model->n; i++) {
        left[i] = work[i];
        time[i] = 0;
        runs[i] = true;
    }
    for (unsigned ended = 0; ended < model->n; ended++) {
        unsigned next = model->n;

        for (unsigned i = 0; i < model->n; i++) {
            speed[i] = runs[i] ? part(model, balance, i, runs) : 0;
            if (runs[i] &&
                (next == model->n || left[i] / speed[i] < left[next] / speed[next]))
                next = i;
        }
        double step = left[next] / speed[next];

        now += step;
        for (unsigned i = 0; i < model->n; i++)
            left[i] -= step * speed[i];
        runs[next] = false;
        time[next] = now;
    }
}

double model_iterate(model_t *model, const hpcb_balance_t *balance,
                     hpcb_balance_sample_t *samples)
{
    double work[HPCB_BALANCE_RANKS], time[HPCB_BALANCE_RANKS], length = 0;

    for (unsigned i = 0; i < model->n; i++)
        work[i] = noisy(model, model->work[i]);
    if (model->kind == MODEL_SLEEP)
        run_sleeping(model, balance, work, time);
    else if (model->kind == MODEL_POLL)
        run_polling(model, balance, work, time);
    else
        run_threads(model, balance, work, time);
    for (unsigned i = 0; i < model->n; i++)
        length = time[i] > length ? time[i] : length;
    for (unsigned i = 0; i < model->n; i++)
        samples[i] = (hpcb_balance_sample_t){
            .compute_ns = (uint64_t)(time[i] * 1e9),
            .wait_ns = (uint64_t)((length - time[i]) * 1e9),
        };
    return length;
}

/* No place has more than its part of the ranks, rounded up. */
static bool is_even(const model_t *model, const hpcb_balance_t *balance)
{
    unsigned on[HPCB_BALANCE_CPUS] = {0};
    unsigned room = (model->n + model->places.n - 1) / model->places.n;

    for (unsigned i = 0; i < model->n; i++)
        if (++on[balance->rank[i].place] > room)
            return false;
    return true;
}

/* Count on: places fastest, then priorities; whether there is another combination. */
static bool next(const model_t *model, hpcb_balance_t *balance)
{
    for (unsigned i = 0; i < model->n; i++) {
        hpcb_balance_rank_t *rank = &balance->rank[i];

        if (++rank->place < model->places.n)
            return true;
        rank->place = 0;
        if (++rank->priority <= 6)
            return true;
        rank->priority = 4;
    }
    return false;
}

double model_best(const model_t *model)
{
    static hpcb_balance_t balance;
    hpcb_balance_sample_t samples[HPCB_BALANCE_RANKS];
    model_t quiet = *model;
    double best = -1;

    quiet.noise = 0;
    memset(&balance, 0, sizeof(balance));
    for (unsigned i = 0; i < model->n; i++)
        balance.rank[i].priority = 4;
    do {
        double length;

        if (!is_even(model, &balance))
            continue;
        length = model_iterate(&quiet, &balance, samples);
        best = best < 0 || length < best ? length : best;
    } while (next(model, &balance));
    return best;
}
