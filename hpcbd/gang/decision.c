/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/record_json.h"
#include "hpcbd/gang/decision.h"

typedef struct {
    hpcb_gang_job_t job;
    bool elected;
} seat_t;

struct hpcbd_decision {
    const char *name;
    uint64_t quantum;
    unsigned window;
    hpcb_bw_t capacity;
    size_t count;
    seat_t seats[];
};

void hpcbd_decisions_note(hpcbd_decisions_t *decisions, const char *name,
                          uint64_t quantum, const hpcb_gang_t *gang,
                          const hpcb_bw_t *capacity, const bool *run)
{
    hpcbd_decision_t **to = &decisions->kept[decisions->next];

    free(*to);
    *to = malloc(sizeof(**to) + gang->count * sizeof((*to)->seats[0]));
    if (!*to)
        return;
    **to = (hpcbd_decision_t){.name = name,
                              .quantum = quantum,
                              .window = gang->window,
                              .capacity = *capacity,
                              .count = gang->count};
    for (size_t i = 0; i < gang->count; i++)
        (*to)->seats[i] = (seat_t){*gang->list[i], run[i]};
    decisions->next = (decisions->next + 1) % HPCBD_DECISIONS_MAX;
}

/* The oldest is 0; NULL: it is not kept. */
static const hpcbd_decision_t *get(const hpcbd_decisions_t *decisions, size_t i)
{
    return decisions->kept[(decisions->next + i) % HPCBD_DECISIONS_MAX];
}

size_t hpcbd_decisions_jobs(const hpcbd_decisions_t *decisions)
{
    size_t jobs = 0;

    for (size_t i = 0; i < HPCBD_DECISIONS_MAX; i++)
        jobs += get(decisions, i) ? get(decisions, i)->count : 0;
    return jobs;
}

/* The decision that job at belongs to, *at becomes its place there.  NULL: none. */
static const hpcbd_decision_t *find(const hpcbd_decisions_t *decisions, size_t *at)
{
    for (size_t i = 0; i < HPCBD_DECISIONS_MAX; i++) {
        const hpcbd_decision_t *decision = get(decisions, i);

        if (decision && *at < decision->count)
            return decision;
        *at -= decision ? decision->count : 0;
    }
    return NULL;
}

static int add_cpus(hpcb_rjson_t *object, const hpcb_cpus_t *cpus)
{
    char text[HPCBD_DECISION_CPUS];

    if (hpcb_cpus_list(cpus, text, sizeof(text)) < 0)
        return hpcb_rjson_add_null(object, "cpus");
    return hpcb_rjson_add_text(object, "cpus", text);
}

static hpcb_rjson_t *pair_of(const hpcb_fit_sample_t *sample)
{
    hpcb_rjson_auto hpcb_rjson_t *pair = json_object_new_array();

    if (!pair || hpcb_rjson_append(pair, json_object_new_uint64(sample->cpu)) < 0 ||
        hpcb_rjson_append(pair, json_object_new_uint64(sample->net)) < 0)
        return NULL;
    return json_object_get(pair);
}

static hpcb_rjson_t *samples_of(const hpcb_gang_job_t *job, unsigned window)
{
    hpcb_rjson_auto hpcb_rjson_t *samples = json_object_new_array();

    if (!samples)
        return NULL;
    for (unsigned i = 0; i < job->n_samples && i < window; i++)
        if (hpcb_rjson_append(samples, pair_of(&job->samples[i])) < 0)
            return NULL;
    return json_object_get(samples);
}

static hpcb_rjson_t *job_of(const seat_t *seat, unsigned window)
{
    hpcb_rjson_auto hpcb_rjson_t *object = json_object_new_object();
    const hpcb_gang_job_t *job = &seat->job;

    if (!object || hpcb_rjson_add_u64(object, "job", job->job_id) < 0 ||
        hpcb_rjson_add_u64(object, "of_job", job->of_job) < 0 ||
        add_cpus(object, &job->cpus) < 0 ||
        hpcb_rjson_add_bool(object, "paused", job->paused) < 0 ||
        hpcb_rjson_add_bool(object, "wide", job->wide) < 0 ||
        hpcb_rjson_add_u64(object, "cycle", job->cycle) < 0 ||
        hpcb_rjson_add_u64(object, "slot", job->slot) < 0 ||
        hpcb_rjson_add_u64(object, "waited", job->waited) < 0 ||
        hpcb_rjson_add(object, "samples", samples_of(job, window)) < 0 ||
        hpcb_rjson_add_bool(object, "elected", seat->elected) < 0)
        return NULL;
    return json_object_get(object);
}

/* Without jobs. */
static hpcb_rjson_t *head_of(const hpcbd_decision_t *decision, size_t from)
{
    hpcb_rjson_auto hpcb_rjson_t *object = json_object_new_object();

    if (!object || hpcb_rjson_add_text(object, "gang", decision->name) < 0 ||
        hpcb_rjson_add_u64(object, "quantum", decision->quantum) < 0 ||
        hpcb_rjson_add_u64(object, "window", decision->window) < 0 ||
        hpcb_rjson_add_u64(object, "mem", decision->capacity.mem) < 0 ||
        hpcb_rjson_add_u64(object, "net", decision->capacity.net) < 0 ||
        hpcb_rjson_add_u64(object, "from", from) < 0 ||
        hpcb_rjson_add_u64(object, "of", decision->count) < 0 ||
        hpcb_rjson_add(object, "jobs", json_object_new_array()) < 0)
        return NULL;
    return json_object_get(object);
}

/* Of plain JSON; beyond any size if memory runs out. */
static size_t length_of(hpcb_rjson_t *object)
{
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);

    return text ? strlen(text) : SIZE_MAX / 2;
}

/* Put jobs from place on into part, as many as fit but at least one.  How many; 0:
 * memory ran out. */
static size_t fill(hpcb_rjson_t *part, const hpcbd_decision_t *decision, size_t place,
                   size_t size)
{
    hpcb_rjson_t *jobs = json_object_object_get(part, "jobs");
    size_t length = length_of(part), n = 0;

    for (; place + n < decision->count; n++) {
        hpcb_rjson_auto hpcb_rjson_t *job =
            job_of(&decision->seats[place + n], decision->window);

        length += job ? length_of(job) + strlen(",") : 0;
        if (job && n > 0 && length > size)
            break;
        if (hpcb_rjson_append(jobs, json_object_get(job)) < 0)
            return 0;
    }
    return n;
}

json_object *hpcbd_decisions_part(const hpcbd_decisions_t *decisions, size_t *at,
                                  size_t size)
{
    size_t place = *at, n;
    const hpcbd_decision_t *decision = find(decisions, &place);
    hpcb_rjson_auto hpcb_rjson_t *part = decision ? head_of(decision, place) : NULL;

    if (!part)
        return NULL;
    n = fill(part, decision, place, size);
    *at += n;
    return n > 0 ? json_object_get(part) : NULL;
}

void hpcbd_decisions_free(hpcbd_decisions_t *decisions)
{
    for (size_t i = 0; i < HPCBD_DECISIONS_MAX; i++)
        free(decisions->kept[i]);
    *decisions = (hpcbd_decisions_t){.next = 0};
}
