/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The model "gang": jobs that share CPUs and take turns, on clusters of several sizes,
 * once under each regime (Koukis and Koziris, section 6):
 *
 *   linux          each node's scheduler has bound two applications to each processor
 *                  and runs them in turn; the nodes do the same at the same time, as
 *                  blocking communication coschedules them
 *   linux_polling  the same, but each node for itself: an application gets on only
 *                  while it runs on all nodes
 *   shared         all four at once on the processors of a node: one that waits for the
 *                  network leaves its CPU time to the others ("cpu" is what it needs at
 *                  full speed), or not ("polls")
 *   paper          the paper's election (gang_paper.c)
 *   slurm          Slurm's gang scheduling (gang_slurm.c)
 *   ours, no_deal, order
 *                  hpcbd's turns (gang_turns.c)
 *
 * The first four are of mixes that are lists, and linux of two processors.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/gang_parts.h"
#include "sim/model.h"
#include "sim/scenario.h"

#define MIXES_MAX   256
#define CLUSTER_MAX 1000000 /* nodes */
#define SIZES_MAX   16

/* Quanta of nodes in all, some microseconds each: within an hour.  Deals of all nodes
 * take as long as so many of these in a second. */
#define WORK_MAX  5e8
#define DEAL_WORK 0.5

#define LISTED_ONLY                                                                    \
    (1U << HPCB_SIM_GANG_LINUX | 1U << HPCB_SIM_GANG_LINUX_POLLING |                   \
     1U << HPCB_SIM_GANG_PAPER | 1U << HPCB_SIM_GANG_SHARED)
#define LINUX_ONLY (1U << HPCB_SIM_GANG_LINUX | 1U << HPCB_SIM_GANG_LINUX_POLLING)

/* ---- rows ---- */

/* Of the application with that number in the scenario's list. */
static double progress_of(const hpcb_sim_gang_run_t *run, size_t number)
{
    for (size_t i = 0; i < HPCB_SIM_GANG_APPS; i++)
        if (run->setting->arrangement[i] == number)
            return run->figures.progress[i];
    return 0;
}

static const char *name_of(const hpcb_sim_gang_run_t *run, size_t number)
{
    for (size_t i = 0; i < HPCB_SIM_GANG_APPS; i++)
        if (run->setting->arrangement[i] == number)
            return run->mix->job[i].app.name;
    return "";
}

static void put_listed(json_object *row, const hpcb_sim_gang_run_t *run)
{
    double ideal =
        run->setting->seconds * (double)run->setting->processors / HPCB_SIM_GANG_APPS;

    hpcb_sim_put_text(row, "first", name_of(run, 0));
    hpcb_sim_put_real(row, "first_by_ideal",
                      (progress_of(run, 0) + progress_of(run, 1)) / 2 / ideal);
    hpcb_sim_put_text(row, "second", name_of(run, 2));
    hpcb_sim_put_real(row, "second_by_ideal",
                      (progress_of(run, 2) + progress_of(run, 3)) / 2 / ideal);
    for (size_t i = 0; i < HPCB_SIM_GANG_APPS; i++) {
        char column[32];

        snprintf(column, sizeof(column), "progress_%zu", i + 1);
        hpcb_sim_put_real(row, column, progress_of(run, i) / run->setting->seconds);
    }
}

typedef struct {
    uint32_t wide;
    double all, of_wide, least; /* progress by time: sums, and the least of all */
} summary_t;

static summary_t sum_up(const hpcb_sim_gang_run_t *run)
{
    summary_t sum = {.least = 1};

    for (uint32_t i = 0; i < run->mix->n_jobs; i++) {
        double part = run->figures.progress[i] / run->setting->seconds;
        bool wide = run->mix->job[i].nodes > 1;

        sum.all += part;
        sum.of_wide += wide ? part : 0;
        sum.wide += wide;
        sum.least = part < sum.least ? part : sum.least;
    }
    return sum;
}

static double by(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void put_jobs(json_object *row, const hpcb_sim_gang_run_t *run)
{
    const hpcb_sim_gang_figures_t *figures = &run->figures;
    summary_t sum = sum_up(run);

    hpcb_sim_put_int(row, "jobs", run->mix->n_jobs);
    hpcb_sim_put_int(row, "wide_jobs", sum.wide);
    hpcb_sim_put_real(row, "progress_mean", by(sum.all, run->mix->n_jobs));
    hpcb_sim_put_real(row, "progress_least", sum.least);
    hpcb_sim_put_real(row, "wide_progress_mean", by(sum.of_wide, sum.wide));
    hpcb_sim_put_real(row, "wide_turns",
                      by(figures->wide_turns, sum.wide * run->setting->seconds));
    hpcb_sim_put_real(row, "split_cpus", by(figures->split, figures->cpu_seconds));
    hpcb_sim_put_real(row, "idle_cpus", by(figures->idle, figures->cpu_seconds));
    hpcb_sim_put_real(row, "wait_seconds", figures->wait);
    hpcb_sim_put_real(row, "wide_wait_seconds", figures->wide_wait);
    hpcb_sim_put_real(row, "wide_gap_seconds", figures->wide_gap);
}

static void put_row(json_object *rows, const hpcb_sim_gang_run_t *run)
{
    json_object *row = hpcb_sim_row(rows);

    hpcb_sim_put_text(row, "mix", run->mix->name);
    hpcb_sim_put_int(row, "nodes", run->mix->nodes);
    hpcb_sim_put_text(row, "regime", hpcb_sim_gang_regime_name(run->regime));
    if (run->mix->listed)
        put_listed(row, run);
    else
        put_jobs(row, run);
}

/* ---- runs ---- */

static int run_regime(hpcb_sim_gang_run_t *run)
{
    switch (run->regime) {
    case HPCB_SIM_GANG_SHARED:
        hpcb_sim_gang_run_shared(run);
        return 0;
    case HPCB_SIM_GANG_LINUX:
    case HPCB_SIM_GANG_LINUX_POLLING:
        hpcb_sim_gang_run_linux(run);
        return 0;
    case HPCB_SIM_GANG_PAPER:
        hpcb_sim_gang_run_paper(run);
        return 0;
    case HPCB_SIM_GANG_SLURM:
        return hpcb_sim_gang_run_slurm(run);
    default:
        return hpcb_sim_gang_run_turns(run);
    }
}

static int run_and_put(hpcb_sim_gang_run_t *run, json_object *rows, hpcb_error_t *err)
{
    hpcb_sim_gang_figures_t *figures = &run->figures;
    int rc = -1;

    *figures =
        (hpcb_sim_gang_figures_t){.progress = calloc(run->mix->n_jobs, sizeof(double)),
                                  .waits = calloc(run->mix->n_seats, sizeof(double)),
                                  .gaps = calloc(run->mix->n_jobs, sizeof(double))};
    if (figures->progress && figures->waits && figures->gaps)
        rc = run_regime(run);
    if (rc == 0)
        put_row(rows, run);
    free(figures->progress);
    free(figures->waits);
    free(figures->gaps);
    return rc == 0 ? 0 : hpcb_error(err, "out of memory");
}

static int run_mix(const hpcb_sim_gang_setting_t *setting, json_object *object,
                   uint32_t nodes, uint64_t seed, hpcb_sim_progress_t *progress,
                   json_object *rows, hpcb_error_t *err)
{
    hpcb_sim_gang_mix_t mix;
    int rc = hpcb_sim_gang_place(setting, object, nodes, seed, &mix, err);

    for (unsigned regime = 0; rc == 0 && regime < HPCB_SIM_GANG_REGIMES; regime++) {
        hpcb_sim_gang_run_t run = {.setting = setting,
                                   .mix = &mix,
                                   .regime = (hpcb_sim_gang_regime_t)regime,
                                   .seed = seed,
                                   .progress = progress};

        if (!(setting->regimes & 1U << regime))
            continue;
        rc = run_and_put(&run, rows, err);
        hpcb_sim_progress_step(progress);
    }
    hpcb_sim_gang_mix_free(&mix);
    return rc;
}

/* ---- the scenario ---- */

typedef struct {
    json_object *mixes;
    size_t n_mixes, n_sizes;
    uint32_t size[SIZES_MAX];
} plan_t;

static int read_plan(json_object *scenario, plan_t *plan, hpcb_error_t *err)
{
    json_object *sizes = NULL;

    if (hpcb_sim_list(scenario, "scenario", "nodes", SIZES_MAX, &sizes, err) < 0 ||
        hpcb_sim_list(scenario, "scenario", "mixes", MIXES_MAX, &plan->mixes, err) < 0)
        return -1;
    plan->n_mixes = json_object_array_length(plan->mixes);
    plan->n_sizes = json_object_array_length(sizes);
    for (size_t i = 0; i < plan->n_sizes; i++) {
        int64_t nodes = 0;

        if (hpcb_sim_int_at(sizes, i, "scenario", "nodes", 1, CLUSTER_MAX, &nodes,
                            err) < 0)
            return -1;
        plan->size[i] = (uint32_t)nodes;
    }
    return 0;
}

static json_object *mix_at(const plan_t *plan, size_t i)
{
    return json_object_array_get_idx(plan->mixes, i);
}

/* All rows of a table have the same columns. */
static int check_kinds(const hpcb_sim_gang_setting_t *setting, const plan_t *plan,
                       hpcb_error_t *err)
{
    bool objects = json_object_is_type(mix_at(plan, 0), json_type_object);

    for (size_t i = 1; i < plan->n_mixes; i++)
        if (json_object_is_type(mix_at(plan, i), json_type_object) != objects)
            return hpcb_error(err, "mixes: lists and objects do not go together");
    if (objects && setting->regimes & LISTED_ONLY)
        return hpcb_error(err,
                          "mixes: objects go with the regimes ours, no_deal, order "
                          "and slurm only");
    if (setting->regimes & LINUX_ONLY && setting->processors != 2)
        return hpcb_error(
            err, "scenario: processors=%" PRId64 ": linux and linux_polling are of 2",
            setting->processors);
    return 0;
}

static int64_t step_ns(const hpcb_sim_gang_setting_t *setting, unsigned regime)
{
    if (1U << regime & LINUX_ONLY)
        return setting->linux_quantum_ns;
    return regime == HPCB_SIM_GANG_SLURM ? setting->slurm_quantum_ns
                                         : setting->quantum_ns;
}

static double work_of(const hpcb_sim_gang_setting_t *setting, unsigned regime)
{
    double work = (double)hpcb_sim_gang_steps(setting, step_ns(setting, regime));

    if (regime == HPCB_SIM_GANG_SHARED)
        return 1;
    if (regime == HPCB_SIM_GANG_OURS || regime == HPCB_SIM_GANG_ORDER)
        work += DEAL_WORK * (setting->settle + setting->seconds);
    return work;
}

static int check_work(const hpcb_sim_gang_setting_t *setting, const plan_t *plan,
                      hpcb_error_t *err)
{
    bool objects = json_object_is_type(mix_at(plan, 0), json_type_object);
    double quanta = 0, work = 0;

    for (unsigned regime = 0; regime < HPCB_SIM_GANG_REGIMES; regime++)
        if (setting->regimes & 1U << regime)
            quanta += work_of(setting, regime);
    for (size_t i = 0; i < plan->n_sizes; i++)
        work += quanta * (double)plan->n_mixes * (objects ? plan->size[i] : 1);
    return work <= WORK_MAX
               ? 0
               : hpcb_error(err,
                            "scenario: %.3g quanta of nodes, more than %.3g: fewer "
                            "nodes, mixes, regimes or seconds, or longer quanta",
                            work, WORK_MAX);
}

int hpcb_sim_gang_model(json_object *scenario, uint64_t seed,
                        hpcb_sim_progress_t *progress, json_object *rows,
                        hpcb_error_t *err)
{
    hpcb_sim_gang_setting_t setting = {0};
    plan_t plan;

    if (hpcb_sim_gang_read(scenario, &setting, err) < 0 ||
        read_plan(scenario, &plan, err) < 0 || check_kinds(&setting, &plan, err) < 0 ||
        check_work(&setting, &plan, err) < 0)
        return -1;
    hpcb_sim_progress_begin(progress,
                            (unsigned)(plan.n_sizes * plan.n_mixes) *
                                (unsigned)__builtin_popcount(setting.regimes));
    for (size_t i = 0; i < plan.n_sizes; i++)
        for (size_t k = 0; k < plan.n_mixes; k++)
            if (run_mix(&setting, mix_at(&plan, k), plan.size[i], seed, progress, rows,
                        err) < 0)
                return -1;
    return 0;
}
