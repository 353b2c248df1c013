/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Parameters of a scenario of the model "gang". */
#include "config.h"

#include <string.h>

#include "common/conf.h"
#include "sim/gang_parts.h"
#include "sim/scenario.h"

#define NS_PER_US    INT64_C(1000)
#define SLICE_MIN_NS INT64_C(1000000)
#define SLICE_MAX_NS INT64_C(100000000000)

/* Of a scenario that does not say. */
#define LINUX_QUANTUM_NS INT64_C(150000000)
#define SLURM_QUANTUM_NS INT64_C(5000000000)

static const char *const regime_names[HPCB_SIM_GANG_REGIMES] = {
    "linux", "linux_polling", "paper", "ours", "no_deal", "order", "slurm", "shared"};

const char *hpcb_sim_gang_regime_name(hpcb_sim_gang_regime_t regime)
{
    return regime_names[regime];
}

static int read_regime(json_object *name, unsigned *regimes, hpcb_error_t *err)
{
    const char *text = json_object_get_string(name);

    for (unsigned regime = 0; text && regime < HPCB_SIM_GANG_REGIMES; regime++)
        if (strcmp(text, regime_names[regime]) == 0) {
            *regimes |= 1U << regime;
            return 0;
        }
    return hpcb_error(err, "scenario: regimes: %s is none", text ? text : "null");
}

static int read_regimes(json_object *scenario, unsigned *regimes, hpcb_error_t *err)
{
    json_object *list = NULL;

    *regimes = 0;
    if (hpcb_sim_list(scenario, "scenario", "regimes", HPCB_SIM_GANG_REGIMES, &list,
                      err) < 0)
        return -1;
    for (size_t i = 0; i < json_object_array_length(list); i++)
        if (read_regime(json_object_array_get_idx(list, i), regimes, err) < 0)
            return -1;
    return 0;
}

/* Each number once. */
static int read_arrangement(json_object *scenario, size_t *arrangement,
                            hpcb_error_t *err)
{
    int64_t place[HPCB_SIM_GANG_APPS] = {0};
    json_object *list = NULL;
    unsigned seen = 0;

    for (size_t i = 0; i < HPCB_SIM_GANG_APPS; i++)
        arrangement[i] = i;
    if (!hpcb_sim_has(scenario, "arrangement"))
        return 0;
    if (hpcb_sim_list(scenario, "scenario", "arrangement", HPCB_SIM_GANG_APPS, &list,
                      err) < 0)
        return -1;
    if (hpcb_sim_ints(list, "scenario", "arrangement", 0, HPCB_SIM_GANG_APPS - 1, place,
                      err) < 0)
        return -1;
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        arrangement[i] = (size_t)place[i];
        seen |= 1U << place[i];
    }
    if (seen != (1U << HPCB_SIM_GANG_APPS) - 1)
        return hpcb_error(err, "scenario: arrangement: not 0 to %d, each once",
                          HPCB_SIM_GANG_APPS - 1);
    return 0;
}

/* Members that are not in the scenario keep their value. */
static int real_or(json_object *object, const char *key, double min, double max,
                   double *value, hpcb_error_t *err)
{
    return hpcb_sim_has(object, key)
               ? hpcb_sim_real(object, "scenario", key, min, max, value, err)
               : 0;
}

static int slice_or(json_object *object, const char *key, int64_t *value,
                    hpcb_error_t *err)
{
    return hpcb_sim_has(object, key)
               ? hpcb_sim_int(object, "scenario", key, SLICE_MIN_NS, SLICE_MAX_NS,
                              value, err)
               : 0;
}

static int bool_or(json_object *object, const char *where, const char *key, bool *value,
                   hpcb_error_t *err)
{
    return hpcb_sim_has(object, key) ? hpcb_sim_bool(object, where, key, value, err)
                                     : 0;
}

static int read_bandwidth(json_object *scenario, hpcb_sim_gang_setting_t *setting,
                          hpcb_error_t *err)
{
    if (hpcb_sim_real(scenario, "scenario", "memory_mb_s", 1, 1e9, &setting->memory,
                      err) < 0 ||
        hpcb_sim_real(scenario, "scenario", "network_mb_s", 1, 1e9, &setting->network,
                      err) < 0)
        return -1;
    setting->known_memory = setting->memory;
    setting->known_network = setting->network;
    setting->senses_memory = setting->senses_network = true;
    return real_or(scenario, "known_memory_mb_s", 0, 1e9, &setting->known_memory, err) <
                       0 ||
                   real_or(scenario, "known_network_mb_s", 0, 1e9,
                           &setting->known_network, err) < 0 ||
                   bool_or(scenario, "scenario", "senses_memory",
                           &setting->senses_memory, err) < 0 ||
                   bool_or(scenario, "scenario", "senses_network",
                           &setting->senses_network, err) < 0
               ? -1
               : 0;
}

/* Quanta are those that hpc-balance.conf allows. */
static int read_times(json_object *scenario, hpcb_sim_gang_setting_t *setting,
                      hpcb_error_t *err)
{
    setting->linux_quantum_ns = LINUX_QUANTUM_NS;
    setting->slurm_quantum_ns = SLURM_QUANTUM_NS;
    return hpcb_sim_int(
               scenario, "scenario", "quantum_ns", HPCB_GANG_QUANTUM_MIN_US * NS_PER_US,
               HPCB_GANG_QUANTUM_MAX_US * NS_PER_US, &setting->quantum_ns, err) < 0 ||
                   slice_or(scenario, "linux_quantum_ns", &setting->linux_quantum_ns,
                            err) < 0 ||
                   slice_or(scenario, "slurm_quantum_ns", &setting->slurm_quantum_ns,
                            err) < 0 ||
                   hpcb_sim_int(scenario, "scenario", "window", 0, HPCB_GANG_WINDOW_MAX,
                                &setting->window, err) < 0 ||
                   hpcb_sim_real(scenario, "scenario", "seconds", 1, 1e6,
                                 &setting->seconds, err) < 0 ||
                   real_or(scenario, "settle_seconds", 0, 1e6, &setting->settle, err) <
                       0
               ? -1
               : 0;
}

int hpcb_sim_gang_read(json_object *scenario, hpcb_sim_gang_setting_t *setting,
                       hpcb_error_t *err)
{
    static const char *const known[] = {"model",
                                        "nodes",
                                        "processors",
                                        "memory_mb_s",
                                        "network_mb_s",
                                        "known_memory_mb_s",
                                        "known_network_mb_s",
                                        "senses_memory",
                                        "senses_network",
                                        "quantum_ns",
                                        "window",
                                        "seconds",
                                        "settle_seconds",
                                        "linux_quantum_ns",
                                        "slurm_quantum_ns",
                                        "applications",
                                        "arrangement",
                                        "mixes",
                                        "regimes",
                                        NULL};

    return hpcb_sim_known(scenario, "scenario", known, err) < 0 ||
                   hpcb_sim_int(scenario, "scenario", "processors", 1,
                                HPCB_SIM_GANG_CPUS_MAX, &setting->processors,
                                err) < 0 ||
                   read_bandwidth(scenario, setting, err) < 0 ||
                   read_times(scenario, setting, err) < 0 ||
                   read_regimes(scenario, &setting->regimes, err) < 0 ||
                   read_arrangement(scenario, setting->arrangement, err) < 0 ||
                   hpcb_sim_object(scenario, "scenario", "applications",
                                   &setting->applications, err) < 0
               ? -1
               : 0;
}

int hpcb_sim_gang_read_app(const hpcb_sim_gang_setting_t *setting, json_object *name,
                           hpcb_sim_gang_app_t *app, hpcb_error_t *err)
{
    static const char *const known[] = {"memory_mb_s", "network_mb_s", "cpu", "polls",
                                        NULL};
    json_object *object = NULL;

    *app = (hpcb_sim_gang_app_t){.name = json_object_get_string(name), .cpu = 1};
    if (!app->name)
        return hpcb_error(err, "mixes: null is no application");
    return hpcb_sim_object(setting->applications, "mixes", app->name, &object, err) <
                       0 ||
                   hpcb_sim_known(object, app->name, known, err) < 0 ||
                   hpcb_sim_real(object, app->name, "memory_mb_s", 0, 1e9, &app->memory,
                                 err) < 0 ||
                   hpcb_sim_real(object, app->name, "network_mb_s", 0, 1e9,
                                 &app->network, err) < 0 ||
                   (hpcb_sim_has(object, "cpu") &&
                    hpcb_sim_real(object, app->name, "cpu", 1e-3, 1, &app->cpu, err) <
                        0) ||
                   bool_or(object, app->name, "polls", &app->polls, err) < 0
               ? -1
               : 0;
}
