/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The model "gang": four applications, a process each on every node of two processors
 * (Koukis and Koziris, section 6), for a while.
 *
 *   linux           each node's scheduler has bound two applications to each processor
 * and runs them in turn; the nodes do the same at the same time, as blocking
 *                   communication coschedules them
 *   linux_polling   the same, but each node for itself: an application gets on only
 *                   while it runs on all nodes
 *   membus          policy/fitness elects each quantum who runs, from what was moved in
 *                   the last w quanta; every node runs the elected
 *   order           the same turns in the order of the list, whatever was moved
 *   shared          all four at once on the processors of a node: one that waits for
 * the network leaves its CPU time to the others ("cpu" is what it needs at full speed),
 * or not ("polls")
 *
 * Those who run at the same time share memory and network bandwidth in proportion to
 * what they ask for; who gets less of one is slower by that much.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "policy/fitness.h"
#include "sim/model.h"
#include "sim/random.h"
#include "sim/scenario.h"

#define APPS      4
#define MIXES_MAX 256
#define NODES_MAX 1000000
#define SIZES_MAX 16
#define HISTORY   16
#define MB        UINT64_C(1000000)

typedef enum { LINUX, LINUX_POLLING, MEMBUS, ORDER, SHARED, REGIMES } regime_t;

static const char *const regime_names[REGIMES] = {"linux", "linux_polling", "membus",
                                                  "order", "shared"};

/* Of a scenario that names none. */
#define USUAL_REGIMES (1U << LINUX | 1U << LINUX_POLLING | 1U << MEMBUS)

typedef struct {
    double memory, network; /* MB/s */
    double known_network;   /* what the node takes for its network's */
    int64_t processors, quantum_ns, linux_quantum_ns, window;
    unsigned regimes; /* bits */
    double seconds;
    json_object *applications;
} setting_t;

typedef struct {
    const char *name;
    double memory, network; /* MB/s of one process */
    double cpu;             /* of a CPU, at full speed */
    bool polls;             /* while the network takes nothing */
} app_t;

typedef struct {
    const setting_t *setting;
    app_t app[APPS];
    double progress[APPS]; /* seconds alone */
} run_t;

/* How fast each of those runs that run, alone 1. */
static void rates(const run_t *run, const bool runs[APPS], double rate[APPS])
{
    double memory = 0, network = 0, by_memory, by_network;

    for (unsigned i = 0; i < APPS; i++) {
        memory += runs[i] ? run->app[i].memory : 0;
        network += runs[i] ? run->app[i].network : 0;
    }
    by_memory = memory > run->setting->memory ? run->setting->memory / memory : 1;
    by_network = network > run->setting->network ? run->setting->network / network : 1;
    for (unsigned i = 0; i < APPS; i++) {
        rate[i] = runs[i] ? 1 : 0;
        if (run->app[i].memory > 0 && by_memory < 1)
            rate[i] *= by_memory;
        if (run->app[i].network > 0 && by_network < rate[i])
            rate[i] = by_network;
    }
}

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

/* Who of each processor's two runs in a quantum: the processors are not in step. */
static void pick(hpcb_sim_stream_t *chance, const unsigned order[APPS], bool runs[APPS])
{
    memset(runs, 0, APPS * sizeof(*runs));
    for (unsigned i = 0; i < APPS; i += 2)
        runs[order[i + hpcb_sim_below(chance, 2)]] = true;
}

static void add_progress(run_t *run, const double rate[APPS], double seconds)
{
    for (unsigned i = 0; i < APPS; i++)
        run->progress[i] += rate[i] * seconds;
}

static bool is_any(const double rate[APPS])
{
    return rate[0] > 0 || rate[1] > 0 || rate[2] > 0 || rate[3] > 0;
}

static void run_linux(run_t *run, bool together, uint32_t nodes, uint64_t seed)
{
    hpcb_sim_stream_t chance = hpcb_sim_stream(seed, together ? 1 : 2);
    double quantum = (double)run->setting->linux_quantum_ns / 1e9;

    /* Bound anew in each quantum, so that one binding does not decide the result: the
     * mean over all bindings. */
    for (int64_t left = (int64_t)(run->setting->seconds / quantum); left > 0; left--) {
        double least[APPS] = {1, 1, 1, 1};

        for (uint32_t node = 0; node < (together ? 1 : nodes) && is_any(least);
             node++) {
            unsigned order[APPS];
            bool runs[APPS];
            double rate[APPS];

            shuffle(&chance, order);
            pick(&chance, order, runs);
            rates(run, runs, rate);
            for (unsigned i = 0; i < APPS; i++)
                least[i] = rate[i] < least[i] ? rate[i] : least[i];
        }
        add_progress(run, least, quantum);
    }
}

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

typedef struct {
    unsigned list[APPS];
    hpcb_fit_sample_t sample[APPS][HISTORY]; /* the latest first */
    unsigned samples[APPS];
} membus_t;

static void remember(membus_t *membus, const run_t *run, const double rate[APPS])
{
    for (unsigned i = 0; i < APPS; i++) {
        if (rate[i] <= 0)
            continue;
        memmove(&membus->sample[i][1], &membus->sample[i][0],
                (HISTORY - 1) * sizeof(membus->sample[i][0]));
        membus->sample[i][0] = (hpcb_fit_sample_t){
            .cpu = (uint64_t)(run->app[i].memory * rate[i]) * MB,
            .net = (uint64_t)(run->app[i].network * rate[i]) * MB,
        };
        if (membus->samples[i] < (unsigned)run->setting->window)
            membus->samples[i]++;
    }
}

/* One node's selection, and with the votes of all that of the cluster: the nodes are
 * alike. */
static void elect(const run_t *run, const membus_t *membus, uint32_t nodes,
                  bool runs[APPS])
{
    const setting_t *setting = run->setting;
    hpcb_bw_t capacity = {(uint64_t)setting->memory * MB,
                          (uint64_t)setting->known_network * MB};
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
    for (uint32_t node = 0; node < nodes; node++)
        hpcb_fit_add_votes(votes, selected, APPS);
    hpcb_fit_elect(apps, votes, APPS, (unsigned)setting->processors, elected);
    for (unsigned i = 0; i < APPS; i++)
        runs[membus->list[i]] = elected[i];
}

static void take_turns(run_t *run, regime_t regime, uint32_t nodes)
{
    double quantum = (double)run->setting->quantum_ns / 1e9;
    membus_t membus = {.list = {0, 1, 2, 3}};

    for (int64_t left = (int64_t)(run->setting->seconds / quantum); left > 0; left--) {
        bool runs[APPS] = {false};
        double rate[APPS];

        if (regime == MEMBUS)
            elect(run, &membus, nodes, runs);
        for (unsigned i = 0; regime == ORDER && i < run->setting->processors; i++)
            runs[membus.list[i]] = true;
        rates(run, runs, rate);
        add_progress(run, rate, quantum);
        remember(&membus, run, rate);
        rotate(membus.list, runs);
    }
}

/* Share the time of the CPUs so that nobody has more than it wants, and nobody who
 * wants more less than others. */
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

static void run_shared(run_t *run)
{
    const setting_t *setting = run->setting;
    double wants[APPS], time[APPS] = {0}, rate[APPS], network = 0, memory = 0;

    for (unsigned i = 0; i < APPS; i++)
        network += run->app[i].network;
    for (unsigned i = 0; i < APPS; i++) {
        const app_t *app = &run->app[i];

        rate[i] = app->network > 0 && network > setting->network
                      ? setting->network / network
                      : 1;
        wants[i] = app->polls ? 1 : app->cpu * rate[i];
    }
    share_time(wants, (double)setting->processors, time);
    for (unsigned i = 0; i < APPS; i++) {
        if (time[i] / run->app[i].cpu < rate[i])
            rate[i] = time[i] / run->app[i].cpu;
        memory += run->app[i].memory * rate[i];
    }
    for (unsigned i = 0; i < APPS && memory > setting->memory; i++)
        rate[i] *= run->app[i].memory > 0 ? setting->memory / memory : 1;
    add_progress(run, rate, setting->seconds);
}

static void put_row(json_object *rows, const run_t *run, const char *mix,
                    regime_t regime, uint32_t nodes)
{
    double ideal = run->setting->seconds * (double)run->setting->processors / APPS;
    json_object *row = hpcb_sim_row(rows);

    hpcb_sim_put_text(row, "mix", mix);
    hpcb_sim_put_int(row, "nodes", nodes);
    hpcb_sim_put_text(row, "regime", regime_names[regime]);
    hpcb_sim_put_text(row, "first", run->app[0].name);
    hpcb_sim_put_real(row, "first_by_ideal",
                      (run->progress[0] + run->progress[1]) / 2 / ideal);
    hpcb_sim_put_text(row, "second", run->app[2].name);
    hpcb_sim_put_real(row, "second_by_ideal",
                      (run->progress[2] + run->progress[3]) / 2 / ideal);
    for (unsigned i = 0; run->setting->regimes != USUAL_REGIMES && i < APPS; i++) {
        char column[32];

        snprintf(column, sizeof(column), "progress_%u", i + 1);
        hpcb_sim_put_real(row, column, run->progress[i] / run->setting->seconds);
    }
}

static int read_mix(json_object *mix, run_t *run, hpcb_error_t *err)
{
    static const char *const known[] = {"memory_mb_s", "network_mb_s", "cpu", "polls",
                                        NULL};

    if (!json_object_is_type(mix, json_type_array) ||
        json_object_array_length(mix) != APPS)
        return hpcb_error(err, "mixes: not a list of lists of %d applications", APPS);
    for (unsigned i = 0; i < APPS; i++) {
        app_t *app = &run->app[i];
        json_object *object = NULL;

        app->cpu = 1;
        app->name = json_object_get_string(json_object_array_get_idx(mix, i));
        if (!app->name ||
            hpcb_sim_object(run->setting->applications, "mixes", app->name, &object,
                            err) < 0 ||
            hpcb_sim_known(object, app->name, known, err) < 0 ||
            hpcb_sim_real(object, app->name, "memory_mb_s", 0, 1e9, &app->memory, err) <
                0 ||
            hpcb_sim_real(object, app->name, "network_mb_s", 0, 1e9, &app->network,
                          err) < 0 ||
            (hpcb_sim_has(object, "cpu") &&
             hpcb_sim_real(object, app->name, "cpu", 1e-3, 1, &app->cpu, err) < 0) ||
            (hpcb_sim_has(object, "polls") &&
             hpcb_sim_bool(object, app->name, "polls", &app->polls, err) < 0))
            return -1;
    }
    return 0;
}

static int run_mix(const setting_t *setting, json_object *mix, uint32_t nodes,
                   uint64_t seed, json_object *rows, hpcb_error_t *err)
{
    for (unsigned regime = 0; regime < REGIMES; regime++) {
        run_t run = {.setting = setting};
        char name[128];

        if (!(setting->regimes & 1U << regime))
            continue;
        if (read_mix(mix, &run, err) < 0)
            return -1;
        snprintf(name, sizeof(name), "%s+%s", run.app[0].name, run.app[2].name);
        if (regime == MEMBUS || regime == ORDER)
            take_turns(&run, (regime_t)regime, nodes);
        else if (regime == SHARED)
            run_shared(&run);
        else
            run_linux(&run, regime == LINUX, nodes, seed);
        put_row(rows, &run, name, (regime_t)regime, nodes);
    }
    return 0;
}

static int read_regimes(json_object *scenario, setting_t *setting, hpcb_error_t *err)
{
    json_object *list;

    setting->regimes = USUAL_REGIMES;
    if (!hpcb_sim_has(scenario, "regimes"))
        return 0;
    if (hpcb_sim_list(scenario, "scenario", "regimes", REGIMES, &list, err) < 0)
        return -1;
    setting->regimes = 0;
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(list, i));
        unsigned regime = 0;

        while (regime < REGIMES && (!name || strcmp(name, regime_names[regime]) != 0))
            regime++;
        if (regime == REGIMES)
            return hpcb_error(err, "scenario: regimes: %s is none",
                              name ? name : "null");
        setting->regimes |= 1U << regime;
    }
    return 0;
}

static int read_setting(json_object *scenario, setting_t *setting, hpcb_error_t *err)
{
    static const char *const known[] = {"model",
                                        "nodes",
                                        "processors",
                                        "memory_mb_s",
                                        "network_mb_s",
                                        "quantum_ns",
                                        "window",
                                        "seconds",
                                        "linux_quantum_ns",
                                        "applications",
                                        "mixes",
                                        "regimes",
                                        "known_network_mb_s",
                                        NULL};

    return hpcb_sim_known(scenario, "scenario", known, err) < 0 ||
                   hpcb_sim_int(scenario, "scenario", "processors", 2, 2,
                                &setting->processors, err) < 0 ||
                   hpcb_sim_real(scenario, "scenario", "memory_mb_s", 1, 1e9,
                                 &setting->memory, err) < 0 ||
                   hpcb_sim_real(scenario, "scenario", "network_mb_s", 1, 1e9,
                                 &setting->network, err) < 0 ||
                   (setting->known_network = setting->network,
                    hpcb_sim_has(scenario, "known_network_mb_s") &&
                        hpcb_sim_real(scenario, "scenario", "known_network_mb_s", 1,
                                      1e9, &setting->known_network, err) < 0) ||
                   read_regimes(scenario, setting, err) < 0 ||
                   hpcb_sim_int(scenario, "scenario", "quantum_ns", 1000000,
                                INT64_C(100000000000), &setting->quantum_ns, err) < 0 ||
                   hpcb_sim_int(scenario, "scenario", "linux_quantum_ns", 1000000,
                                INT64_C(100000000000), &setting->linux_quantum_ns,
                                err) < 0 ||
                   hpcb_sim_int(scenario, "scenario", "window", 1, HISTORY,
                                &setting->window, err) < 0 ||
                   hpcb_sim_real(scenario, "scenario", "seconds", 1, 1e6,
                                 &setting->seconds, err) < 0 ||
                   hpcb_sim_object(scenario, "scenario", "applications",
                                   &setting->applications, err) < 0
               ? -1
               : 0;
}

int hpcb_sim_gang_model(json_object *scenario, uint64_t seed,
                        hpcb_sim_progress_t *progress, json_object *rows,
                        hpcb_error_t *err)
{
    setting_t setting = {0};
    json_object *mixes = NULL, *sizes = NULL;
    size_t n;

    if (read_setting(scenario, &setting, err) < 0 ||
        hpcb_sim_list(scenario, "scenario", "nodes", SIZES_MAX, &sizes, err) < 0 ||
        hpcb_sim_list(scenario, "scenario", "mixes", MIXES_MAX, &mixes, err) < 0)
        return -1;
    n = json_object_array_length(sizes) * json_object_array_length(mixes);
    hpcb_sim_progress_begin(progress, (unsigned)n);
    for (size_t i = 0; i < n; i++) {
        int64_t nodes = json_object_get_int64(
            json_object_array_get_idx(sizes, i / json_object_array_length(mixes)));

        if (nodes < 1 || nodes > NODES_MAX)
            return hpcb_error(err, "scenario: nodes: not whole numbers of 1 to %d",
                              NODES_MAX);
        if (run_mix(
                &setting,
                json_object_array_get_idx(mixes, i % json_object_array_length(mixes)),
                (uint32_t)nodes, seed, rows, err) < 0)
            return -1;
        hpcb_sim_progress_step(progress);
    }
    return 0;
}
