/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The model "noise": a job on each of the numbers of nodes, in each regime.  A regime
 * is the scenario with some members in other words: noise, window, slice_ns,
 * clock_offset_ns and edge_late_ns.  The first regime is what the others are compared
 * with.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/guard.h"
#include "policy/window.h"
#include "sim/lockstep.h"
#include "sim/model.h"
#include "sim/scenario.h"

#define NODES_MAX   (1 << 24)
#define NOISES_MAX  16
#define REGIMES_MAX 64
#define SIZES_MAX   64

typedef struct {
    const char *name;
    hpcb_sim_noise_t noise[NOISES_MAX];
    unsigned noises;
    bool windows, guarded;
    hpcb_window_t window;
    hpcb_crumbs_conf_t guard;
    hpcb_sim_dist_t edge_late, clock_offset;
} regime_t;

typedef enum { SYNCHRONOUS, IRREGULAR, SEQUENTIAL } kind_t;

typedef struct {
    hpcb_sim_recordings_t recordings;
    kind_t kind;
    int64_t level_ns; /* of an operation, for each doubling of the nodes */
    hpcb_sim_job_t job;
} plan_t;

static void regime_free(regime_t *regime)
{
    for (unsigned i = 0; i < regime->noises; i++) {
        hpcb_sim_dist_free(&regime->noise[i].pause);
        hpcb_sim_dist_free(&regime->noise[i].length);
    }
    hpcb_sim_dist_free(&regime->edge_late);
    hpcb_sim_dist_free(&regime->clock_offset);
}

static int read_window(json_object *from, regime_t *regime, hpcb_error_t *err)
{
    static const char *const known[] = {"period_ns", "favoured_ns", "epoch_ns", NULL};
    hpcb_window_t *window = &regime->window;
    json_object *object;

    if (hpcb_sim_object(from, regime->name, "window", &object, err) < 0 ||
        hpcb_sim_known(object, "window", known, err) < 0 ||
        hpcb_sim_int(object, "window", "period_ns", HPCB_WINDOW_PERIOD_MIN_NS,
                     HPCB_WINDOW_PERIOD_MAX_NS, &window->period_ns, err) < 0 ||
        hpcb_sim_int(object, "window", "favoured_ns", 1, window->period_ns - 1,
                     &window->favoured_ns, err) < 0)
        return -1;
    if (hpcb_sim_has(object, "epoch_ns") &&
        hpcb_sim_int(object, "window", "epoch_ns", 0, HPCB_SIM_NS_MAX,
                     &window->epoch_ns, err) < 0)
        return -1;
    return 0;
}

static int read_guard(json_object *from, regime_t *regime, hpcb_error_t *err)
{
    static const char *const known[] = {"min_share", "patience_ns", NULL};
    json_object *object;
    int64_t patience_ns = 0;

    if (hpcb_sim_object(from, regime->name, "guard", &object, err) < 0 ||
        hpcb_sim_known(object, "guard", known, err) < 0 ||
        hpcb_sim_real(object, "guard", "min_share", 0, 1, &regime->guard.min_share,
                      err) < 0 ||
        hpcb_sim_int(object, "guard", "patience_ns", 0, HPCB_SIM_NS_MAX, &patience_ns,
                     err) < 0)
        return -1;
    regime->guard.patience_ns = (uint64_t)patience_ns;
    regime->guard.starved_ns = UINT64_MAX;
    return 0;
}

/* A noise that was recorded; none if there was nothing to record. */
static int read_recorded(json_object *object, regime_t *regime,
                         hpcb_sim_recordings_t *recordings, hpcb_error_t *err)
{
    static const char *const known[] = {"recorded", "system", NULL};
    const hpcb_sim_recording_t *recording;
    const char *name;

    if (hpcb_sim_known(object, "noise", known, err) < 0 ||
        hpcb_sim_text(object, "noise", "recorded", &name, err) < 0)
        return -1;
    recording = hpcb_sim_recordings_get(recordings, name, err);
    if (!recording)
        return -1;
    regime->noise[regime->noises].recording = recording;
    regime->noises += recording->n > 0;
    return 0;
}

static int read_drawn(json_object *object, regime_t *regime, hpcb_error_t *err)
{
    static const char *const known[] = {"pause_ns", "length_ns", "system", NULL};
    hpcb_sim_noise_t *noise = &regime->noise[regime->noises];

    if (hpcb_sim_known(object, "noise", known, err) < 0 ||
        hpcb_sim_dist(object, "noise", "pause_ns", 1000, &noise->pause, err) < 0)
        return -1;
    regime->noises++;
    if (hpcb_sim_dist(object, "noise", "length_ns", 0, &noise->length, err) < 0)
        return -1;
    return hpcb_sim_dist_most(&noise->length) > 0
               ? 0
               : hpcb_error(err, "noise: length_ns: 0 only: a task that never runs");
}

static int read_noise(json_object *object, int64_t slice_ns, bool sleeps,
                      regime_t *regime, hpcb_sim_recordings_t *recordings,
                      hpcb_error_t *err)
{
    hpcb_sim_noise_t *noise = &regime->noise[regime->noises];
    bool system = false;

    if (!json_object_is_type(object, json_type_object))
        return hpcb_error(err, "%s: noise: not a list of objects", regime->name);
    if (hpcb_sim_has(object, "system") &&
        hpcb_sim_bool(object, "noise", "system", &system, err) < 0)
        return -1;
    noise->slice_ns = slice_ns;
    noise->window = regime->windows && !system ? &regime->window : NULL;
    noise->edge_late = &regime->edge_late;
    noise->guard = regime->guarded && !system ? &regime->guard : NULL;
    noise->shares_waits = sleeps;
    return hpcb_sim_has(object, "recorded")
               ? read_recorded(object, regime, recordings, err)
               : read_drawn(object, regime, err);
}

/* The object that has the member: the regime itself, or else the scenario. */
static json_object *who_has(json_object *regime, json_object *scenario, const char *key)
{
    return hpcb_sim_has(regime, key) ? regime : scenario;
}

static int read_regime(json_object *from, json_object *scenario, plan_t *plan,
                       regime_t *regime, hpcb_error_t *err)
{
    static const char *const known[] = {"name",         "noise",    "window",
                                        "guard",        "slice_ns", "clock_offset_ns",
                                        "edge_late_ns", NULL};
    int64_t slice_ns;
    json_object *list;

    regime->windows = hpcb_sim_has(from, "window");
    regime->guarded = hpcb_sim_has(from, "guard");
    if (hpcb_sim_text(from, "regimes", "name", &regime->name, err) < 0 ||
        hpcb_sim_known(from, regime->name, known, err) < 0 ||
        hpcb_sim_int(who_has(from, scenario, "slice_ns"), regime->name, "slice_ns", 0,
                     HPCB_SIM_NS_MAX, &slice_ns, err) < 0 ||
        hpcb_sim_dist(who_has(from, scenario, "clock_offset_ns"), regime->name,
                      "clock_offset_ns", -HPCB_SIM_NS_MAX, &regime->clock_offset,
                      err) < 0 ||
        hpcb_sim_dist(who_has(from, scenario, "edge_late_ns"), regime->name,
                      "edge_late_ns", 0, &regime->edge_late, err) < 0 ||
        (regime->windows && read_window(from, regime, err) < 0) ||
        (regime->guarded && read_guard(from, regime, err) < 0))
        return -1;
    if (!hpcb_sim_has(from, "noise"))
        return 0;
    if (hpcb_sim_list(from, regime->name, "noise", NOISES_MAX, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_object_array_length(list); i++)
        if (read_noise(json_object_array_get_idx(list, i), slice_ns, plan->job.sleeps,
                       regime, &plan->recordings, err) < 0)
            return -1;
    return 0;
}

static int read_losses(json_object *object, hpcb_sim_job_t *job, hpcb_error_t *err)
{
    int64_t dead = 0;

    if (hpcb_sim_has(object, "lost") &&
        (hpcb_sim_real(object, "job", "lost", 0, 1, &job->lost, err) < 0 ||
         hpcb_sim_int(object, "job", "resend_ns", 0, HPCB_SIM_NS_MAX, &job->resend_ns,
                      err) < 0))
        return -1;
    if (hpcb_sim_has(object, "dead") &&
        (hpcb_sim_int(object, "job", "dead", 0, NODES_MAX, &dead, err) < 0 ||
         hpcb_sim_int(object, "job", "dead_ns", 0, HPCB_SIM_NS_MAX, &job->dead_ns,
                      err) < 0 ||
         hpcb_sim_int(object, "job", "detect_ns", 0, HPCB_SIM_NS_MAX, &job->detect_ns,
                      err) < 0))
        return -1;
    job->dead = (uint32_t)dead;
    return 0;
}

static int read_waits(json_object *object, hpcb_sim_job_t *job, hpcb_error_t *err)
{
    const char *text = "poll";

    if (hpcb_sim_has(object, "waits") &&
        hpcb_sim_text(object, "job", "waits", &text, err) < 0)
        return -1;
    job->sleeps = strcmp(text, "sleep") == 0;
    return job->sleeps || strcmp(text, "poll") == 0
               ? 0
               : hpcb_error(err, "job: waits=%s: not poll or sleep", text);
}

/* Only who synchronises waits, or sends messages that can be lost. */
static int refuse_of_apart(json_object *object, kind_t kind, hpcb_error_t *err)
{
    static const char *const members[] = {"waits", "lost", "dead"};

    for (unsigned i = 0; kind != SYNCHRONOUS && i < 3; i++)
        if (hpcb_sim_has(object, members[i]))
            return hpcb_error(err, "job: %s: for the kind synchronous only",
                              members[i]);
    return 0;
}

static int read_kind(json_object *object, kind_t *kind, hpcb_error_t *err)
{
    static const char *const kinds[] = {"synchronous", "irregular", "sequential"};
    const char *text = kinds[SYNCHRONOUS];

    if (hpcb_sim_has(object, "kind") &&
        hpcb_sim_text(object, "job", "kind", &text, err) < 0)
        return -1;
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(kinds[i], text) == 0) {
            *kind = (kind_t)i;
            return 0;
        }
    }
    return hpcb_error(err, "job: kind=%s: not synchronous, irregular or sequential",
                      text);
}

static int read_job(json_object *scenario, plan_t *plan, hpcb_error_t *err)
{
    static const char *const known[] = {"kind",    "work_ns", "level_ns",  "operations",
                                        "seconds", "waits",   "lost",      "resend_ns",
                                        "dead",    "dead_ns", "detect_ns", NULL};
    hpcb_sim_job_t *job = &plan->job;
    json_object *object;
    double seconds;

    if (hpcb_sim_object(scenario, "scenario", "job", &object, err) < 0 ||
        hpcb_sim_known(object, "job", known, err) < 0 ||
        read_kind(object, &plan->kind, err) < 0 ||
        refuse_of_apart(object, plan->kind, err) < 0 ||
        read_waits(object, job, err) < 0 ||
        hpcb_sim_int(object, "job", "work_ns", 100, HPCB_SIM_NS_MAX, &job->work_ns,
                     err) < 0 ||
        hpcb_sim_int(object, "job", "level_ns", 0, HPCB_SIM_NS_MAX / 64,
                     &plan->level_ns, err) < 0 ||
        hpcb_sim_int(object, "job", "operations", 1, INT64_C(1000000000000),
                     &job->operations, err) < 0 ||
        hpcb_sim_real(object, "job", "seconds", 1e-6, 1e7, &seconds, err) < 0)
        return -1;
    job->limit_ns = (int64_t)(seconds * 1e9);
    return read_losses(object, job, err);
}

static int read_recordings(json_object *scenario, hpcb_sim_recordings_t *recordings,
                           hpcb_error_t *err)
{
    const char *name;

    if (!hpcb_sim_has(scenario, "recording"))
        return 0;
    if (hpcb_sim_text(scenario, "scenario", "recording", &name, err) < 0)
        return -1;
    recordings->path = hpcb_sim_scenario_file(scenario, name, err);
    return recordings->path ? 0 : -1;
}

static unsigned levels(uint32_t nodes)
{
    unsigned n = 0;

    while ((UINT64_C(1) << n) < nodes)
        n++;
    return n;
}

/* Without synchronization operations are not distinguished: the shortest and the
 * longest are those of the mean. */
static hpcb_sim_lockstep_t operations_in(const hpcb_sim_job_t *job, double mean)
{
    hpcb_sim_lockstep_t result = {.operations = job->operations,
                                  .shortest_ns = (int64_t)mean,
                                  .longest_ns = (int64_t)mean};
    double most = (double)job->limit_ns / mean;

    if (most < (double)job->operations)
        result.operations = (int64_t)most;
    result.elapsed_ns = (int64_t)(mean * (double)result.operations);
    return result;
}

/* ns an operation. */
static int run_one(const plan_t *plan, const hpcb_sim_job_t *job, uint64_t seed,
                   hpcb_sim_progress_t *progress, hpcb_sim_lockstep_t *result,
                   double *mean, hpcb_error_t *err)
{
    hpcb_sim_apart_t apart;

    if (plan->kind == SYNCHRONOUS) {
        if (hpcb_sim_lockstep(job, seed, progress, result, err) < 0)
            return -1;
        *mean = (double)result->elapsed_ns / (double)result->operations;
        return 0;
    }
    apart = hpcb_sim_apart(job, seed, progress);
    *mean = (double)job->work_ns *
            (plan->kind == IRREGULAR ? 1 / apart.share : apart.slowdown);
    *result = operations_in(job, *mean);
    return 0;
}

static void put_row(json_object *rows, const hpcb_sim_job_t *job, const char *name,
                    const hpcb_sim_lockstep_t *result, double mean, double first)
{
    json_object *row = hpcb_sim_row(rows);

    hpcb_sim_put_int(row, "nodes", job->nodes);
    hpcb_sim_put_text(row, "regime", name);
    hpcb_sim_put_int(row, "operations", result->operations);
    hpcb_sim_put_real(row, "seconds", (double)result->elapsed_ns / 1e9);
    hpcb_sim_put_real(row, "mean_ns", mean);
    hpcb_sim_put_int(row, "shortest_ns", result->shortest_ns);
    hpcb_sim_put_int(row, "longest_ns", result->longest_ns);
    hpcb_sim_put_int(row, "detours", (int64_t)result->detours);
    hpcb_sim_put_real(row, "slowdown", mean / first);
}

static int run_regimes(const plan_t *plan, regime_t *regimes, size_t n, uint32_t nodes,
                       uint64_t seed, hpcb_sim_progress_t *progress, json_object *rows,
                       hpcb_error_t *err)
{
    double first = 0;

    for (size_t i = 0; i < n; i++) {
        hpcb_sim_job_t job = plan->job;
        hpcb_sim_lockstep_t result;
        double mean;

        job.nodes = nodes;
        job.work_ns += (int64_t)levels(nodes) * plan->level_ns;
        job.noise = regimes[i].noise;
        job.noises = regimes[i].noises;
        job.clock_offset = regimes[i].clock_offset;
        if (job.dead >= nodes)
            return hpcb_error(err, "job: dead=%u: not below the %u nodes", job.dead,
                              nodes);
        if (run_one(plan, &job, seed, progress, &result, &mean, err) < 0)
            return -1;
        if (i == 0)
            first = mean;
        put_row(rows, &job, regimes[i].name, &result, mean, first);
        hpcb_sim_progress_step(progress);
    }
    return 0;
}

static int run_sizes(json_object *scenario, const plan_t *plan, regime_t *regimes,
                     size_t n, uint64_t seed, hpcb_sim_progress_t *progress,
                     json_object *rows, hpcb_error_t *err)
{
    int64_t nodes[SIZES_MAX];
    json_object *sizes;

    if (hpcb_sim_list(scenario, "scenario", "nodes", SIZES_MAX, &sizes, err) < 0)
        return -1;
    hpcb_sim_progress_begin(progress, (unsigned)(json_object_array_length(sizes) * n));
    if (hpcb_sim_ints(sizes, "scenario", "nodes", 1, NODES_MAX, nodes, err) < 0)
        return -1;
    for (size_t i = 0; i < json_object_array_length(sizes); i++)
        if (run_regimes(plan, regimes, n, (uint32_t)nodes[i], seed, progress, rows,
                        err) < 0)
            return -1;
    return 0;
}

static int run_plan(json_object *scenario, plan_t *plan, uint64_t seed,
                    hpcb_sim_progress_t *progress, json_object *rows, hpcb_error_t *err)
{
    json_object *list;
    regime_t *regimes;
    size_t n, read = 0;
    int rc = 0;

    if (hpcb_sim_list(scenario, "scenario", "regimes", REGIMES_MAX, &list, err) < 0)
        return -1;
    n = json_object_array_length(list);
    regimes = calloc(n, sizeof(*regimes));
    if (!regimes)
        return hpcb_error(err, "regimes: %s", strerror(errno));
    while (rc == 0 && read < n) {
        rc = read_regime(json_object_array_get_idx(list, read), scenario, plan,
                         &regimes[read], err);
        read++;
    }
    if (rc == 0)
        rc = run_sizes(scenario, plan, regimes, n, seed, progress, rows, err);
    while (read > 0)
        regime_free(&regimes[--read]);
    free(regimes);
    return rc;
}

int hpcb_sim_noise_model(json_object *scenario, uint64_t seed,
                         hpcb_sim_progress_t *progress, json_object *rows,
                         hpcb_error_t *err)
{
    static const char *const known[] = {"model",    "nodes",           "job",
                                        "slice_ns", "clock_offset_ns", "edge_late_ns",
                                        "regimes",  "recording",       NULL};
    plan_t plan = {0};
    int rc;

    if (hpcb_sim_known(scenario, "scenario", known, err) < 0 ||
        read_job(scenario, &plan, err) < 0 ||
        read_recordings(scenario, &plan.recordings, err) < 0)
        return -1;
    rc = run_plan(scenario, &plan, seed, progress, rows, err);
    hpcb_sim_recordings_free(&plan.recordings);
    return rc;
}
