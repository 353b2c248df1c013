/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * gang-replay: reads decisions as hpcbd has taken them, one JSON object a line (the
 * "decisions" of hpcbctl gang list --json, hpcbd/gang/decision.h), and takes them again
 * by policy/gang from the samples in them.  Prints how many were taken again and how
 * many of these differ; exits with 1 if one does.
 */
#include "config.h"
#include <err.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "policy/gang.h"

typedef struct {
    hpcb_gang_t gang;
    hpcb_bw_t capacity;
    uint64_t quantum;
    hpcb_gang_job_t jobs[HPCB_GANG_JOBS_MAX];
    bool elected[HPCB_GANG_JOBS_MAX];
} decision_t;

static json_object *get(json_object *object, const char *key)
{
    json_object *value;

    if (!json_object_object_get_ex(object, key, &value))
        errx(2, "a decision has no \"%s\"", key);
    return value;
}

static uint64_t number(json_object *object, const char *key)
{
    return (uint64_t)json_object_get_int64(get(object, key));
}

static void read_samples(json_object *samples, hpcb_gang_job_t *job)
{
    for (size_t i = json_object_array_length(samples); i-- > 0;) {
        json_object *pair = json_object_array_get_idx(samples, i);
        hpcb_fit_sample_t sample = {
            (uint64_t)json_object_get_int64(json_object_array_get_idx(pair, 0)),
            (uint64_t)json_object_get_int64(json_object_array_get_idx(pair, 1))};

        hpcb_gang_sample(job, &sample);
    }
}

/* False: it does not say on which CPUs the job is. */
static bool read_job(json_object *from, hpcb_gang_job_t *job, bool *elected)
{
    json_object *cpus = get(from, "cpus");

    if (!cpus)
        return false;
    *job = (hpcb_gang_job_t){
        .job_id = (uint32_t)number(from, "job"),
        .of_job = (uint32_t)number(from, "of_job"),
        .paused = json_object_get_boolean(get(from, "paused")),
        .wide = json_object_get_boolean(get(from, "wide")),
        .cycle = (unsigned)number(from, "cycle"),
        .slot = (unsigned)number(from, "slot"),
        .waited = (uint32_t)number(from, "waited"),
    };
    if (hpcb_cpus_parse(json_object_get_string(cpus), &job->cpus) < 0)
        errx(2, "job %u: no list of CPUs", job->job_id);
    read_samples(get(from, "samples"), job);
    *elected = json_object_get_boolean(get(from, "elected"));
    return true;
}

/* False: it says too little. */
static bool read_decision(json_object *from, decision_t *decision)
{
    json_object *jobs = get(from, "jobs");
    size_t count = jobs ? json_object_array_length(jobs) : 0;

    if (count == 0 || count > HPCB_GANG_JOBS_MAX)
        return false;
    decision->gang = (hpcb_gang_t){.window = (unsigned)number(from, "window")};
    decision->capacity = (hpcb_bw_t){number(from, "mem"), number(from, "net")};
    decision->quantum = number(from, "quantum");
    for (size_t i = 0; i < count; i++) {
        if (!read_job(json_object_array_get_idx(jobs, i), &decision->jobs[i],
                      &decision->elected[i]))
            return false;
        hpcb_gang_add(&decision->gang, &decision->jobs[i]);
    }
    return true;
}

static bool is_alike(const decision_t *decision)
{
    bool run[HPCB_GANG_JOBS_MAX] = {false};

    hpcb_gang_select(&decision->gang, &decision->capacity, decision->quantum, run);
    for (size_t i = 0; i < decision->gang.count; i++)
        if (run[i] != decision->elected[i])
            return false;
    return true;
}

int main(void)
{
    static decision_t decision;
    unsigned long replayed = 0, unlike = 0, unknown = 0;
    char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, stdin) >= 0) {
        json_object *object = json_tokener_parse(line);

        if (!object)
            errx(2, "no JSON: %.60s", line);
        if (read_decision(object, &decision)) {
            replayed++;
            unlike += !is_alike(&decision);
        } else
            unknown++;
        json_object_put(object);
    }
    free(line);
    printf("{\"replayed\":%lu,\"unlike\":%lu,\"unknown\":%lu}\n", replayed, unlike,
           unknown);
    return unlike > 0;
}
