/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The models "threads" and "pairs": ranks on the hardware threads of cores whose speeds
 * depend on priorities (Boneti 2009), with the policies of policy/balance.
 *
 * speed[5 + d] is that of a thread whose priority is d above that of the other thread
 * on its core, alone 1.  A rank that polls while it waits takes as much of the core as
 * one that computes; one that sleeps leaves it all.
 *
 * A rank's work comes from the reference case, the first one: the part of an iteration
 * that it computes there, with equal priorities.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "policy/balance.h"
#include "policy/share.h"
#include "sim/model.h"
#include "sim/scenario.h"

#define RANKS_MAX   HPCB_BALANCE_CPUS
#define CASES_MAX   64
#define SPEEDS      11
#define EQUAL       5
#define PRIORITY    4
#define ITERATIONS  1000000
#define MICRO_MAX   16
#define LEAST_SPEED 1e-9

/* Of the decode slots, what a thread of priority 1 has next to others (table 2.3). */
#define TRANSPARENT 32

typedef struct {
    double speed[SPEEDS];
    bool polls;
    hpcb_balance_places_t places;
    unsigned n;
    double part[RANKS_MAX]; /* of the reference's iteration, computing */
    double work[RANKS_MAX]; /* seconds alone on a core, of an iteration of 1 s */
    int64_t iterations, reverse_every;
    double seconds; /* of the reference case */
} setting_t;

/* Present places and priorities of ranks. */
typedef struct {
    const setting_t *setting;
    unsigned place[RANKS_MAX];
    int priority[RANKS_MAX];
} placed_t;

/* The speed of rank while those of runs take their CPUs. */
static double speed(const placed_t *placed, unsigned rank, const bool runs[])
{
    const setting_t *setting = placed->setting;
    unsigned here = 0;
    int beside = 0;

    for (unsigned i = 0; i < setting->n; i++) {
        if (!runs[i])
            continue;
        if (placed->place[i] == placed->place[rank])
            here++;
        else if (hpcb_balance_same_core(&setting->places, placed->place[i],
                                        placed->place[rank]) &&
                 placed->priority[i] > beside)
            beside = placed->priority[i];
    }
    if (beside == 0)
        return 1.0 / here;
    beside = placed->priority[rank] - beside;
    beside = beside > EQUAL ? EQUAL : beside < -EQUAL ? -EQUAL : beside;
    return setting->speed[EQUAL + beside] / here;
}

/* One iteration: when each rank is done with its work.  The length of all. */
static double iterate(const placed_t *placed, const double work[], double done[])
{
    const setting_t *setting = placed->setting;
    double left[RANKS_MAX] = {0}, rate[RANKS_MAX] = {0}, now = 0;
    bool busy[RANKS_MAX] = {false}, runs[RANKS_MAX] = {false};

    for (unsigned i = 0; i < setting->n; i++) {
        left[i] = work[i];
        busy[i] = runs[i] = true;
        done[i] = 0;
    }
    for (unsigned ended = 0; ended < setting->n; ended++) {
        unsigned next = setting->n;
        double step;

        for (unsigned i = 0; i < setting->n; i++) {
            rate[i] = busy[i] ? speed(placed, i, runs) : 0;
            if (busy[i] &&
                (next == setting->n || left[i] / rate[i] < left[next] / rate[next]))
                next = i;
        }
        step = left[next] / rate[next];
        now += step;
        for (unsigned i = 0; i < setting->n; i++)
            left[i] -= step * rate[i];
        busy[next] = false;
        runs[next] = setting->polls;
        done[next] = now;
    }
    return now;
}

/* Work out what each rank must have to compute for its part of the reference case: in
 * the order of their ends, each runs at the speed of the moment. */
static void work_of_reference(setting_t *setting)
{
    placed_t placed = {.setting = setting};
    bool runs[RANKS_MAX], ended[RANKS_MAX] = {false};
    double now = 0;

    for (unsigned i = 0; i < setting->n; i++) {
        placed.place[i] = i;
        placed.priority[i] = PRIORITY;
        runs[i] = true;
        setting->work[i] = 0;
    }
    for (unsigned n = 0; n < setting->n; n++) {
        unsigned next = setting->n;

        for (unsigned i = 0; i < setting->n; i++)
            if (!ended[i] &&
                (next == setting->n || setting->part[i] < setting->part[next]))
                next = i;
        for (unsigned i = 0; i < setting->n; i++)
            if (!ended[i])
                setting->work[i] +=
                    (setting->part[next] - now) * speed(&placed, i, runs);
        now = setting->part[next];
        ended[next] = true;
        runs[next] = setting->polls;
    }
}

static bool is_reversed(const setting_t *setting, int64_t iteration)
{
    return setting->reverse_every > 0 && iteration / setting->reverse_every % 2 == 1;
}

typedef struct {
    double seconds, computed[RANKS_MAX];
    int64_t changes;
} outcome_t;

/* All iterations under a policy, or without one (conf NULL). */
static void run_case(const setting_t *setting, const hpcb_balance_conf_t *conf,
                     hpcb_balance_t *balance, outcome_t *outcome)
{
    *outcome = (outcome_t){0};
    for (int64_t k = 0; k < setting->iterations; k++) {
        hpcb_balance_sample_t samples[RANKS_MAX];
        placed_t placed = {.setting = setting};
        double work[RANKS_MAX], done[RANKS_MAX], length;

        for (unsigned i = 0; i < setting->n; i++) {
            unsigned from = is_reversed(setting, k) && (i ^ 1) < setting->n ? i ^ 1 : i;

            work[i] = setting->work[from];
            placed.place[i] = conf ? balance->rank[i].place : i;
            placed.priority[i] = conf ? balance->rank[i].priority : PRIORITY;
        }
        length = iterate(&placed, work, done);
        outcome->seconds += length;
        for (unsigned i = 0; i < setting->n; i++) {
            outcome->computed[i] += done[i];
            samples[i] = (hpcb_balance_sample_t){
                .compute_ns = (uint64_t)(done[i] * 1e9),
                .wait_ns = (uint64_t)((length - done[i]) * 1e9),
            };
        }
        if (conf && hpcb_balance_step(conf, &setting->places, samples, balance) != 0)
            outcome->changes++;
    }
}

static int read_places(json_object *object, const char *name, const setting_t *setting,
                       uint16_t at[], hpcb_error_t *err)
{
    int64_t place[RANKS_MAX];
    json_object *list;

    for (unsigned i = 0; i < setting->n; i++)
        at[i] = (uint16_t)i;
    if (!hpcb_sim_has(object, "places"))
        return 0;
    if (hpcb_sim_list(object, name, "places", RANKS_MAX, &list, err) < 0)
        return -1;
    if (json_object_array_length(list) != setting->n)
        return hpcb_error(err, "%s: places: not one for each of %u ranks", name,
                          setting->n);
    if (hpcb_sim_ints(list, name, "places", 0, setting->places.n - 1, place, err) < 0)
        return -1;
    for (unsigned i = 0; i < setting->n; i++)
        at[i] = (uint16_t)place[i];
    return 0;
}

/* Run a case: a policy, and the places of its ranks. */
static int play(json_object *object, const char *name, const setting_t *setting,
                outcome_t *outcome, hpcb_error_t *err)
{
    hpcb_balance_conf_t conf;
    hpcb_balance_t balance;
    uint16_t at[RANKS_MAX];
    const char *policy, *bad = NULL;

    if (!hpcb_sim_has(object, "policy")) {
        run_case(setting, NULL, NULL, outcome);
        return 0;
    }
    if (hpcb_sim_text(object, name, "policy", &policy, err) < 0 ||
        read_places(object, name, setting, at, err) < 0)
        return -1;
    if (hpcb_balance_conf_parse(policy, &conf, &bad) < 0)
        return hpcb_error(err, "%s: policy=%s: wrong from '%s' on", name, policy, bad);
    if (hpcb_balance_begin(&conf, &setting->places, setting->n, at, &balance) < 0)
        return hpcb_error(err, "%s: the ranks cannot be placed so", name);
    run_case(setting, &conf, &balance, outcome);
    return 0;
}

static int run_cases(json_object *scenario, setting_t *setting,
                     hpcb_sim_progress_t *progress, json_object *rows,
                     hpcb_error_t *err)
{
    static const char *const known[] = {"name", "seconds", "policy", "places", NULL};
    json_object *list = NULL;
    double first = 0;

    if (hpcb_sim_list(scenario, "scenario", "cases", CASES_MAX, &list, err) < 0)
        return -1;
    hpcb_sim_progress_begin(progress, (unsigned)json_object_array_length(list));
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *object = json_object_array_get_idx(list, i), *row;
        outcome_t outcome = {0};
        const char *name;

        if (hpcb_sim_text(object, "cases", "name", &name, err) < 0 ||
            hpcb_sim_known(object, name, known, err) < 0 ||
            (i == 0 && hpcb_sim_real(object, name, "seconds", 1e-6, 1e9,
                                     &setting->seconds, err) < 0) ||
            play(object, name, setting, &outcome, err) < 0)
            return -1;
        if (i == 0)
            first = outcome.seconds;
        row = hpcb_sim_row(rows);
        hpcb_sim_put_text(row, "case", name);
        hpcb_sim_put_real(row, "seconds", outcome.seconds / first * setting->seconds);
        hpcb_sim_put_real(row, "relative", outcome.seconds / first);
        hpcb_sim_put_int(row, "changes", outcome.changes);
        for (unsigned j = 0; j < setting->n; j++) {
            char column[32];

            snprintf(column, sizeof(column), "computes_%u", j + 1);
            hpcb_sim_put_real(row, column, outcome.computed[j] / outcome.seconds);
        }
        hpcb_sim_progress_step(progress);
    }
    return 0;
}

static int read_speeds(json_object *scenario, double speeds[SPEEDS], hpcb_error_t *err)
{
    json_object *list;

    if (hpcb_sim_list(scenario, "scenario", "speed", SPEEDS, &list, err) < 0)
        return -1;
    if (json_object_array_length(list) != SPEEDS)
        return hpcb_error(err, "scenario: speed: not %d numbers", SPEEDS);
    return hpcb_sim_reals(list, "scenario", "speed", LEAST_SPEED, 1, speeds, err);
}

static int read_ranks(json_object *scenario, setting_t *setting, hpcb_error_t *err)
{
    static const char *const known[] = {"compute", NULL};
    json_object *list;

    if (hpcb_sim_list(scenario, "scenario", "ranks", setting->places.n, &list, err) < 0)
        return -1;
    setting->n = (unsigned)json_object_array_length(list);
    for (unsigned i = 0; i < setting->n; i++) {
        json_object *rank = json_object_array_get_idx(list, i);

        if (!json_object_is_type(rank, json_type_object))
            return hpcb_error(err, "ranks: not a list of objects");
        if (hpcb_sim_known(rank, "ranks", known, err) < 0 ||
            hpcb_sim_real(rank, "ranks", "compute", 1e-6, 1, &setting->part[i], err) <
                0)
            return -1;
    }
    return 0;
}

static int read_machine(json_object *scenario, setting_t *setting, hpcb_error_t *err)
{
    int64_t cores, threads;
    const char *waits;

    if (hpcb_sim_int(scenario, "scenario", "cores", 1, 16, &cores, err) < 0 ||
        hpcb_sim_int(scenario, "scenario", "threads", 1, 2, &threads, err) < 0 ||
        hpcb_sim_text(scenario, "scenario", "waits", &waits, err) < 0 ||
        hpcb_sim_int(scenario, "scenario", "iterations", 1, ITERATIONS,
                     &setting->iterations, err) < 0 ||
        (hpcb_sim_has(scenario, "reverse_every") &&
         hpcb_sim_int(scenario, "scenario", "reverse_every", 1, ITERATIONS,
                      &setting->reverse_every, err) < 0))
        return -1;
    if (strcmp(waits, "poll") != 0 && strcmp(waits, "sleep") != 0)
        return hpcb_error(err, "scenario: waits=%s: not poll or sleep", waits);
    setting->polls = strcmp(waits, "poll") == 0;
    for (unsigned i = 0; i < cores * threads; i++)
        setting->places.place[i] =
            (hpcb_balance_place_t){.cpu = (uint16_t)i, .core = (uint16_t)(i / threads)};
    setting->places.n = (unsigned)(cores * threads);
    return 0;
}

int hpcb_sim_threads_model(json_object *scenario, uint64_t seed,
                           hpcb_sim_progress_t *progress, json_object *rows,
                           hpcb_error_t *err)
{
    static const char *const known[] = {"model", "cores", "threads",    "speed",
                                        "waits", "ranks", "iterations", "reverse_every",
                                        "cases", NULL};
    setting_t setting = {0};

    (void)seed; /* no chance in it */
    if (hpcb_sim_known(scenario, "scenario", known, err) < 0 ||
        read_machine(scenario, &setting, err) < 0 ||
        read_speeds(scenario, setting.speed, err) < 0 ||
        read_ranks(scenario, &setting, err) < 0)
        return -1;
    work_of_reference(&setting);
    return run_cases(scenario, &setting, progress, rows, err);
}

typedef struct {
    size_t n;
    double alone[MICRO_MAX], together[MICRO_MAX][MICRO_MAX], width;
} micro_t;

/* Instructions a cycle of a thread next to another one, at a difference of priorities.
 * One with the lower priority decodes width instructions in its slots (formula 2.1) at
 * most; the other one comes as much closer to what it does alone as that one is slower.
 */
static double micro_ipc(const micro_t *micro, size_t own, size_t other, int difference)
{
    double together = micro->together[own][other], slower, most, gone;
    unsigned slots;

    if (difference == 0)
        return together;
    slots = hpcb_share_slots((unsigned)(difference > 0 ? difference : -difference));
    most = micro->width / (slots > 0 ? slots : TRANSPARENT);
    if (difference < 0)
        return together < most ? together : most;
    slower = micro->together[other][own];
    gone = slower > most ? 1 - most / slower : 0;
    return together + (micro->alone[own] - together) * gone;
}

/* Write the level that each of the two sets for itself (table 2.2) if it has to be user
 * code. */
static void put_levels(json_object *row, int difference)
{
    unsigned a_is_below = difference < 0 ? (unsigned)-difference : 0;
    unsigned b_is_below = difference > 0 ? (unsigned)difference : 0;

    hpcb_sim_put_int(row, "a_user_level", hpcb_share_ppr(a_is_below));
    hpcb_sim_put_int(row, "b_user_level", hpcb_share_ppr(b_is_below));
}

static void put_micro(const micro_t *micro, json_object *names, size_t a, size_t b,
                      json_object *rows)
{
    double equal = micro->together[a][b] + micro->together[b][a];

    for (int d = -EQUAL; d <= EQUAL; d++) {
        json_object *row = hpcb_sim_row(rows);
        double now_a = micro_ipc(micro, a, b, d), now_b = micro_ipc(micro, b, a, -d);
        char name[128];

        snprintf(name, sizeof(name), "%s+%s",
                 json_object_get_string(json_object_array_get_idx(names, a)),
                 json_object_get_string(json_object_array_get_idx(names, b)));
        hpcb_sim_put_text(row, "pair", name);
        hpcb_sim_put_int(row, "difference", d);
        hpcb_sim_put_real(row, "throughput", (now_a + now_b) / equal);
        hpcb_sim_put_real(row, "a_by_alone", now_a / micro->alone[a]);
        put_levels(row, d);
    }
}

static int read_ipcs(json_object *list, const char *key, size_t n, double ipc[],
                     hpcb_error_t *err)
{
    if (!json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) != n)
        return hpcb_error(err, "micro: not %zu numbers", n);
    return hpcb_sim_reals(list, "micro", key, LEAST_SPEED, 100, ipc, err);
}

static int run_micro(json_object *object, json_object *rows, hpcb_error_t *err)
{
    static const char *const known[] = {"names", "alone", "together", "width", NULL};
    json_object *names, *alone, *together;
    micro_t micro = {0};

    if (hpcb_sim_known(object, "micro", known, err) < 0 ||
        hpcb_sim_list(object, "micro", "names", MICRO_MAX, &names, err) < 0 ||
        hpcb_sim_list(object, "micro", "alone", MICRO_MAX, &alone, err) < 0 ||
        hpcb_sim_list(object, "micro", "together", MICRO_MAX, &together, err) < 0 ||
        hpcb_sim_real(object, "micro", "width", 1, 100, &micro.width, err) < 0)
        return -1;
    micro.n = json_object_array_length(names);
    if (json_object_array_length(together) != micro.n)
        return hpcb_error(err, "micro: together: not %zu rows", micro.n);
    if (read_ipcs(alone, "alone", micro.n, micro.alone, err) < 0)
        return -1;
    for (size_t i = 0; i < micro.n; i++)
        if (read_ipcs(json_object_array_get_idx(together, i), "together", micro.n,
                      micro.together[i], err) < 0)
            return -1;
    for (size_t a = 0; a < micro.n; a++)
        for (size_t b = 0; b < micro.n; b++)
            put_micro(&micro, names, a, b, rows);
    return 0;
}

static int put_pair(json_object *pair, const double speeds[SPEEDS], json_object *rows,
                    hpcb_error_t *err)
{
    static const char *const known[] = {"name", "a", "b", NULL};
    const char *name;
    double a, b;

    if (hpcb_sim_known(pair, "pairs", known, err) < 0 ||
        hpcb_sim_text(pair, "pairs", "name", &name, err) < 0 ||
        hpcb_sim_real(pair, name, "a", 0, 100, &a, err) < 0 ||
        hpcb_sim_real(pair, name, "b", 0, 100, &b, err) < 0)
        return -1;
    for (int d = -EQUAL; d <= EQUAL; d++) {
        json_object *row = hpcb_sim_row(rows);
        double now_a = a * speeds[EQUAL + d] / speeds[EQUAL];
        double now_b = b * speeds[EQUAL - d] / speeds[EQUAL];

        hpcb_sim_put_text(row, "pair", name);
        hpcb_sim_put_int(row, "difference", d);
        hpcb_sim_put_real(row, "throughput", (now_a + now_b) / (a + b));
        hpcb_sim_put_real(row, "a_by_alone", speeds[EQUAL + d]);
        put_levels(row, d);
    }
    return 0;
}

int hpcb_sim_pairs_model(json_object *scenario, uint64_t seed,
                         hpcb_sim_progress_t *progress, json_object *rows,
                         hpcb_error_t *err)
{
    static const char *const known[] = {"model", "speed", "pairs", "micro", NULL};
    double speeds[SPEEDS] = {0};
    json_object *list, *micro;

    (void)seed;
    hpcb_sim_progress_begin(progress, 1);
    if (hpcb_sim_known(scenario, "scenario", known, err) < 0 ||
        read_speeds(scenario, speeds, err) < 0 ||
        hpcb_sim_list(scenario, "scenario", "pairs", CASES_MAX, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *pair = json_object_array_get_idx(list, i);

        if (!json_object_is_type(pair, json_type_object))
            return hpcb_error(err, "pairs: not a list of objects");
        if (put_pair(pair, speeds, rows, err) < 0)
            return -1;
    }
    if (hpcb_sim_has(scenario, "micro") &&
        (hpcb_sim_object(scenario, "scenario", "micro", &micro, err) < 0 ||
         run_micro(micro, rows, err) < 0))
        return -1;
    hpcb_sim_progress_step(progress);
    return 0;
}
