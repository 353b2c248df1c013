/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/model.h"

static const struct {
    const char *name;
    hpcb_sim_model_t model;
} models[] = {
    {"cpus", hpcb_sim_cpus_model},       {"gang", hpcb_sim_gang_model},
    {"memory", hpcb_sim_memory_model},   {"noise", hpcb_sim_noise_model},
    {"pairs", hpcb_sim_pairs_model},     {"queue", hpcb_sim_queue_model},
    {"threads", hpcb_sim_threads_model},
};

hpcb_sim_model_t hpcb_sim_model(const char *name)
{
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
        if (strcmp(models[i].name, name) == 0)
            return models[i].model;
    return NULL;
}

const char *hpcb_sim_models(void)
{
    return "cpus, gang, memory, noise, pairs, queue, threads";
}

json_object *hpcb_sim_row(json_object *rows)
{
    json_object *row = json_object_new_object();

    if (row && json_object_array_add(rows, row) < 0) {
        json_object_put(row);
        row = NULL;
    }
    return row;
}

static void put(json_object *row, const char *name, json_object *value)
{
    if (!row || !value || json_object_object_add(row, name, value) < 0)
        json_object_put(value);
}

void hpcb_sim_put_text(json_object *row, const char *name, const char *value)
{
    put(row, name, json_object_new_string(value));
}

void hpcb_sim_put_int(json_object *row, const char *name, int64_t value)
{
    put(row, name, json_object_new_int64(value));
}

/* Six digits: what stands behind them is no information, and differs between formats.
 */
void hpcb_sim_put_real(json_object *row, const char *name, double value)
{
    char text[40];

    snprintf(text, sizeof(text), "%.6g", value);
    put(row, name, json_object_new_double_s(value, text));
}
