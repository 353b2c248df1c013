/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include "cgroup/rank.h"
#include "hpcbctl/job/balance.h"
#include "hpcbctl/output.h"

static void text_head(FILE *out)
{
    fprintf(out, "\n%-10s  %-6s  %-16s  %5s  %-9s  %-9s  %9s  %7s  %s\n", "JOB", "STEP",
            "POLICY", "RANKS", "MECHANISM", "BY", "STEPS", "CHANGES", "CPU:WEIGHT");
}

static int number_at(json_object *array, size_t i)
{
    return json_object_get_int(json_object_array_get_idx(array, i));
}

static void text_ranks(json_object *step, FILE *out)
{
    json_object *cpus, *weights;

    if (!json_object_object_get_ex(step, "cpus", &cpus) ||
        !json_object_object_get_ex(step, "weights", &weights))
        return;
    for (size_t i = 0;
         i < json_object_array_length(cpus) && i < json_object_array_length(weights);
         i++) {
        if (number_at(cpus, i) < 0)
            fprintf(out, "%s*:%d", i ? " " : "", number_at(weights, i));
        else
            fprintf(out, "%s%d:%d", i ? " " : "", number_at(cpus, i),
                    number_at(weights, i));
    }
}

static void text_step(uint64_t job, json_object *step, FILE *out)
{
    const char *why = hpcb_json_get_text(step, "why");

    fprintf(out,
            "%-10" PRIu64 "  %-6s  %-16s  %5" PRIu64 "  %-9s  %-9s  %9" PRIu64
            "  %7" PRIu64 "  ",
            job, hpcb_json_get_text(step, "step"), hpcb_json_get_text(step, "policy"),
            hpcb_json_get_u64(step, "ranks"), hpcb_json_get_text(step, "mechanism"),
            hpcb_json_get_text(step, "by"), hpcb_json_get_u64(step, "steps"),
            hpcb_json_get_u64(step, "changes"));
    text_ranks(step, out);
    fprintf(out, "%s%s\n", *why ? "  " : "", why);
}

void hpcb_balance_text(json_object *jobs, FILE *out)
{
    bool headed = false;

    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        json_object *job = json_object_array_get_idx(jobs, i), *steps;

        if (!json_object_object_get_ex(job, "balance", &steps))
            continue;
        if (!headed)
            text_head(out);
        headed = true;
        for (size_t j = 0; j < json_object_array_length(steps); j++)
            text_step(hpcb_json_get_u64(job, "job"),
                      json_object_array_get_idx(steps, j), out);
    }
}

int hpcb_balance_release(const hpcb_node_t *node, const hpcb_conf_t *conf,
                         hpcb_error_t *err)
{
    char dir[PATH_MAX];

    if (snprintf(dir, sizeof(dir), "%s/balance", conf->state_dir) >= (int)sizeof(dir))
        return hpcb_error(err, "%.200s is too long", conf->state_dir);
    return hpcb_ranks_release(node, dir, conf->balance_cgroup, err);
}
