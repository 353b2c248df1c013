/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/capacity.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "hpcbd/records/wire.h"
#include "hpcbd/records/wire_live.h"

#define TYPE "live"

/* Length of the part with version and type. */
#define HEAD_BYTES 48

/* JSON's integers are json-c's: 63 bits. */
#define NUMBER_MAX ((uint64_t)INT64_MAX)

static uint64_t number(uint64_t value)
{
    return value < NUMBER_MAX ? value : NUMBER_MAX;
}

static int add_job(hpcb_rjson_t *jobs, const hpcb_live_job_t *job)
{
    hpcb_rjson_t *object = json_object_new_object();

    if (hpcb_rjson_append(jobs, object) ||
        hpcb_rjson_add_u64(object, "job_id", job->job_id) ||
        hpcb_rjson_add_bool(object, "guest", job->guest) ||
        hpcb_rjson_add_u64(object, "used", number(job->used)) ||
        hpcb_rjson_add_u64(object, "growth", number(job->growth)) ||
        hpcb_rjson_add_u64(object, "peak", number(job->peak)))
        return -1;
    return job->cpus_known ? hpcb_rjson_add_u64(object, "cpus", number(job->cpus)) : 0;
}

static int add_jobs(hpcb_rjson_t *object, const hpcb_live_node_t *node)
{
    hpcb_rjson_t *jobs = json_object_new_array();

    if (hpcb_rjson_add(object, "jobs", jobs))
        return -1;
    for (size_t i = 0; i < node->n_jobs; i++)
        if (add_job(jobs, &node->jobs[i]))
            return -1;
    return 0;
}

static int add_node(hpcb_rjson_t *message, const hpcb_live_node_t *node)
{
    hpcb_rjson_t *object = json_object_new_object();

    if (hpcb_rjson_add(message, "node", object))
        return -1;
    if (hpcb_rjson_add_text(object, "name", node->name) ||
        hpcb_rjson_add_u64(object, "time", node->time > 0 ? (uint64_t)node->time : 0) ||
        hpcb_rjson_add_u64(object, "memory", number(node->memory)) ||
        hpcb_rjson_add_u64(object, "available", number(node->available)) ||
        hpcb_rjson_add_bool(object, "protects", node->protects) ||
        hpcb_rjson_add_u64(object, "mem_bandwidth", number(node->mem_bandwidth)) ||
        hpcb_rjson_add_u64(object, "net_bandwidth", number(node->net_bandwidth)) ||
        hpcb_rjson_add_u64(object, "saturation", node->saturation) ||
        hpcb_rjson_add_u64(object, "memory_part", node->memory_part))
        return -1;
    return add_jobs(object, node);
}

char *hpcbd_live_print(const hpcb_live_node_t *node, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *message = NULL;

    if (!hpcb_text_is_name(node->name, sizeof(node->name)) ||
        node->n_jobs > HPCB_LIVE_NODE_JOBS_MAX) {
        errno = EINVAL;
        hpcb_error(err, "no node has such a name, or so many jobs");
        return NULL;
    }
    message = hpcbd_message_new(TYPE, NULL);
    if (!message || add_node(message, node)) {
        errno = ENOMEM;
        hpcb_error(err, "out of memory");
        return NULL;
    }
    return hpcb_rjson_print(message, "", err);
}

bool hpcbd_live_is_report(const char *text)
{
    static const char mark[] = "\"" TYPE "\"";
    size_t length = strnlen(text, HEAD_BYTES);

    return memmem(text, length, mark, sizeof(mark) - 1) != NULL;
}

static int get_number(hpcb_rjson_t *object, const char *key, uint64_t *value)
{
    return hpcb_rjson_get_u64(object, key, NUMBER_MAX, value);
}

static int get_bool(hpcb_rjson_t *object, const char *key, bool *value)
{
    hpcb_rjson_t *member;

    if (!json_object_object_get_ex(object, key, &member) ||
        !json_object_is_type(member, json_type_boolean))
        return -1;
    *value = json_object_get_boolean(member);
    return 0;
}

static int read_job(hpcb_rjson_t *object, hpcb_live_job_t *job)
{
    uint64_t id;

    if (!json_object_is_type(object, json_type_object) ||
        hpcb_rjson_get_u64(object, "job_id", UINT32_MAX, &id) || id == 0 ||
        get_bool(object, "guest", &job->guest) ||
        get_number(object, "used", &job->used) ||
        get_number(object, "growth", &job->growth) ||
        get_number(object, "peak", &job->peak))
        return -1;
    job->job_id = (uint32_t)id;
    job->cpus_known = get_number(object, "cpus", &job->cpus) == 0;
    return 0;
}

static int read_jobs(hpcb_rjson_t *object, hpcb_live_node_t *node)
{
    hpcb_rjson_t *jobs;
    size_t count;

    if (!json_object_object_get_ex(object, "jobs", &jobs) ||
        !json_object_is_type(jobs, json_type_array))
        return -1;
    count = json_object_array_length(jobs);
    if (count > HPCB_LIVE_NODE_JOBS_MAX)
        return -1;
    node->jobs = calloc(count + 1, sizeof(*node->jobs));
    if (!node->jobs)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (read_job(json_object_array_get_idx(jobs, i), &node->jobs[i]))
            return -1;
    node->n_jobs = (uint32_t)count;
    return 0;
}

/* Nodes of an earlier release do not say. */
static void read_saturation(hpcb_rjson_t *object, hpcb_live_node_t *node)
{
    uint64_t level, part;

    if (hpcb_rjson_get_u64(object, "saturation", HPCB_LIVE_SATURATED, &level) ||
        hpcb_rjson_get_u64(object, "memory_part", 1000, &part))
        return;
    node->saturation = (uint32_t)level;
    node->memory_part = (uint32_t)part;
}

static int read_node(hpcb_rjson_t *message, hpcb_live_node_t *node)
{
    hpcb_rjson_t *object;
    uint64_t time;

    if (!json_object_object_get_ex(message, "node", &object) ||
        !json_object_is_type(object, json_type_object) ||
        hpcb_rjson_get_word(object, "name", node->name, sizeof(node->name)) ||
        !hpcb_text_is_name(node->name, sizeof(node->name)) ||
        get_number(object, "time", &time) ||
        get_number(object, "memory", &node->memory) ||
        get_number(object, "available", &node->available) ||
        get_bool(object, "protects", &node->protects))
        return -1;
    node->time = (int64_t)time;
    /* Nodes of an earlier release do not say. */
    (void)hpcb_rjson_get_u64(object, "mem_bandwidth", HPCB_BANDWIDTH_MAX,
                             &node->mem_bandwidth);
    (void)hpcb_rjson_get_u64(object, "net_bandwidth", HPCB_BANDWIDTH_MAX,
                             &node->net_bandwidth);
    read_saturation(object, node);
    return read_jobs(object, node);
}

int hpcbd_live_parse(const char *text, hpcb_live_node_t *node, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *message = hpcbd_message_read(text, TYPE, NULL);
    hpcb_live_node_t read = {.jobs = NULL};

    if (!message || read_node(message, &read)) {
        free(read.jobs);
        errno = EINVAL;
        return hpcb_error(err, "not a report of live state");
    }
    *node = read;
    return 0;
}
