/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "hpcbd/records/wire_gang.h"

#define REPORT "gang"
#define DEAL   "deal"

/* Length of the part with version and type. */
#define HEAD_BYTES 48

#define CPUS_TEXT 1024

/* JSON's integers are json-c's: 63 bits. */
#define NUMBER_MAX ((uint64_t)INT64_MAX)

static uint64_t number(uint64_t value)
{
    return value < NUMBER_MAX ? value : NUMBER_MAX;
}

static int is_no_message(const char *what, hpcb_error_t *err)
{
    errno = EINVAL;
    return hpcb_error(err, "not a %s of quanta", what);
}

static char *print(hpcb_rjson_t *message, int status, hpcb_error_t *err)
{
    if (message && status == 0)
        return hpcb_rjson_print(message, "", err);
    errno = ENOMEM;
    hpcb_error(err, "out of memory");
    return NULL;
}

/* ---- reports ---- */

static int add_known(hpcb_rjson_t *object, const char *key, uint64_t value, bool known)
{
    return known ? hpcb_rjson_add_u64(object, key, number(value))
                 : hpcb_rjson_add_null(object, key);
}

static int add_job(hpcb_rjson_t *jobs, const hpcbd_wide_job_t *job, const char *cpus)
{
    hpcb_rjson_t *object = json_object_new_object();

    if (hpcb_rjson_append(jobs, object) ||
        hpcb_rjson_add_u64(object, "job_id", job->job_id) ||
        hpcb_rjson_add_u64(object, "nodes", job->nodes) ||
        hpcb_rjson_add_bool(object, "guest", job->guest) ||
        hpcb_rjson_add_u64(object, "quantum_us", job->quantum_us) ||
        hpcb_rjson_add_text(object, "cpus", cpus) ||
        hpcb_rjson_add_u64(object, "depth", job->depth) ||
        add_known(object, "mem", job->use.mem, job->mem_known) ||
        add_known(object, "net", job->use.net, job->net_known))
        return -1;
    return 0;
}

static int add_jobs(hpcb_rjson_t *message, const hpcbd_wide_t *turns)
{
    hpcb_rjson_t *jobs = json_object_new_array();
    char cpus[CPUS_TEXT];

    if (hpcb_rjson_add(message, "jobs", jobs))
        return -1;
    for (size_t i = 0; i < turns->n_jobs; i++)
        if (hpcb_cpus_list(&turns->jobs[i].cpus, cpus, sizeof(cpus)) == 0 &&
            add_job(jobs, &turns->jobs[i], cpus))
            return -1;
    return 0;
}

char *hpcbd_wide_print(const hpcbd_wide_t *turns, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *message = hpcbd_message_new(REPORT, NULL);
    int status = -1;

    if (message && hpcb_rjson_add_text(message, "node", turns->node) == 0 &&
        hpcb_rjson_add_u64(message, "mem", number(turns->capacity.mem)) == 0 &&
        hpcb_rjson_add_u64(message, "net", number(turns->capacity.net)) == 0)
        status = add_jobs(message, turns);
    return print(message, status, err);
}

/* Not by the name alone: a node may have it. */
bool hpcbd_wide_is_report(const char *text)
{
    static const char mark[] = "\"type\":\"" REPORT "\"";
    size_t length = strnlen(text, HEAD_BYTES);

    return memmem(text, length, mark, sizeof(mark) - 1) != NULL;
}

static int get_u32(hpcb_rjson_t *object, const char *key, uint32_t least,
                   uint32_t *value)
{
    uint64_t read;

    if (hpcb_rjson_get_u64(object, key, UINT32_MAX, &read) || read < least)
        return -1;
    *value = (uint32_t)read;
    return 0;
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

static int get_known(hpcb_rjson_t *object, const char *key, uint64_t *value,
                     bool *known)
{
    hpcb_rjson_t *member;

    *value = 0;
    *known = false;
    if (!json_object_object_get_ex(object, key, &member))
        return -1;
    if (!member)
        return 0;
    *known = true;
    return hpcb_rjson_get_u64(object, key, NUMBER_MAX, value);
}

static int get_quantum(hpcb_rjson_t *object, uint64_t *us)
{
    return hpcb_rjson_get_u64(object, "quantum_us", HPCB_GANG_QUANTUM_MAX_US, us) ==
                       0 &&
                   *us >= HPCB_GANG_QUANTUM_MIN_US
               ? 0
               : -1;
}

static int get_cpus(hpcb_rjson_t *object, hpcb_cpus_t *cpus)
{
    char list[CPUS_TEXT];

    return hpcb_rjson_get_word(object, "cpus", list, sizeof(list)) == 0 &&
                   hpcb_cpus_parse(list, cpus) == 0 &&
                   hpcb_cpus_from(cpus, 0) < HPCB_CPUS_MAX
               ? 0
               : -1;
}

static int read_job(hpcb_rjson_t *object, hpcbd_wide_job_t *job)
{
    if (!json_object_is_type(object, json_type_object) ||
        get_u32(object, "job_id", 1, &job->job_id) ||
        get_u32(object, "nodes", 2, &job->nodes) ||
        get_bool(object, "guest", &job->guest) ||
        get_quantum(object, &job->quantum_us) || get_cpus(object, &job->cpus) ||
        get_u32(object, "depth", 1, &job->depth) ||
        get_known(object, "mem", &job->use.mem, &job->mem_known) ||
        get_known(object, "net", &job->use.net, &job->net_known))
        return -1;
    return 0;
}

/* Of an array with up to limit elements; NULL: there is none. */
static hpcb_rjson_t *get_jobs(hpcb_rjson_t *message, size_t limit, size_t *count)
{
    hpcb_rjson_t *jobs;

    if (!json_object_object_get_ex(message, "jobs", &jobs) ||
        !json_object_is_type(jobs, json_type_array))
        return NULL;
    *count = json_object_array_length(jobs);
    return *count <= limit ? jobs : NULL;
}

static bool is_listed(const hpcbd_wide_t *turns, uint32_t job_id)
{
    for (size_t i = 0; i < turns->n_jobs; i++)
        if (turns->jobs[i].job_id == job_id)
            return true;
    return false;
}

/* Each job once. */
static int read_jobs(hpcb_rjson_t *message, hpcbd_wide_t *turns)
{
    size_t count, guests = 0;
    hpcb_rjson_t *jobs = get_jobs(message, HPCBD_WIDE_MAX, &count);

    if (!jobs)
        return -1;
    for (turns->n_jobs = 0; turns->n_jobs < count; turns->n_jobs++) {
        hpcbd_wide_job_t *job = &turns->jobs[turns->n_jobs];

        if (read_job(json_object_array_get_idx(jobs, turns->n_jobs), job) ||
            is_listed(turns, job->job_id))
            return -1;
        guests += job->guest;
    }
    return guests <= HPCB_DEAL_NODE_SEATS && count - guests <= HPCB_DEAL_NODE_SEATS
               ? 0
               : -1;
}

int hpcbd_wide_parse(const char *text, hpcbd_wide_t *turns,
                     char nonce[static HPCBD_NONCE_MAX], hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *message = hpcbd_message_read(text, REPORT, nonce);

    if (!message ||
        hpcb_rjson_get_word(message, "node", turns->node, sizeof(turns->node)) ||
        !hpcb_text_is_name(turns->node, sizeof(turns->node)) ||
        hpcb_rjson_get_u64(message, "mem", NUMBER_MAX, &turns->capacity.mem) ||
        hpcb_rjson_get_u64(message, "net", NUMBER_MAX, &turns->capacity.net) ||
        read_jobs(message, turns))
        return is_no_message("report", err);
    return 0;
}

/* ---- deals ---- */

static int add_dealt_job(hpcb_rjson_t *jobs, const hpcbd_dealt_job_t *job)
{
    hpcb_rjson_t *object = json_object_new_object();

    if (hpcb_rjson_append(jobs, object) ||
        hpcb_rjson_add_u64(object, "job_id", job->job_id) ||
        hpcb_rjson_add_u64(object, "quantum_us", job->quantum_us) ||
        hpcb_rjson_add_u64(object, "from", number(job->from)) ||
        hpcb_rjson_add_u64(object, "cycle", job->cycle) ||
        hpcb_rjson_add_u64(object, "slot", job->slot))
        return -1;
    return 0;
}

static int add_dealt(hpcb_rjson_t *message, const hpcbd_dealt_t *dealt)
{
    hpcb_rjson_t *jobs = json_object_new_array();

    if (hpcb_rjson_add(message, "jobs", jobs))
        return -1;
    for (size_t i = 0; i < dealt->n_jobs; i++)
        if (add_dealt_job(jobs, &dealt->jobs[i]))
            return -1;
    return 0;
}

char *hpcbd_dealt_print(const hpcbd_dealt_t *dealt, const char *nonce,
                        hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *message = hpcbd_message_new(DEAL, nonce);
    uint64_t until = dealt->until > 0 ? (uint64_t)dealt->until : 0;
    int status = -1;

    if (message && hpcb_rjson_add_u64(message, "until", until) == 0)
        status = add_dealt(message, dealt);
    return print(message, status, err);
}

static int read_dealt(hpcb_rjson_t *object, hpcbd_dealt_job_t *job)
{
    uint32_t cycle, slot;

    if (!json_object_is_type(object, json_type_object) ||
        get_u32(object, "job_id", 1, &job->job_id) ||
        get_quantum(object, &job->quantum_us) ||
        hpcb_rjson_get_u64(object, "from", NUMBER_MAX, &job->from) ||
        get_u32(object, "cycle", 1, &cycle) || get_u32(object, "slot", 0, &slot) ||
        cycle > HPCB_DEAL_CYCLE_MAX || (cycle & (cycle - 1)) != 0 || slot >= cycle)
        return -1;
    job->cycle = cycle;
    job->slot = slot;
    return 0;
}

static int read_deal(hpcb_rjson_t *message, hpcbd_dealt_t *dealt)
{
    hpcb_rjson_t *jobs = get_jobs(message, HPCBD_DEALT_MAX, &dealt->n_jobs);
    uint64_t until;

    if (!jobs || hpcb_rjson_get_u64(message, "until", NUMBER_MAX, &until))
        return -1;
    dealt->until = (int64_t)until;
    for (size_t i = 0; i < dealt->n_jobs; i++)
        if (read_dealt(json_object_array_get_idx(jobs, i), &dealt->jobs[i]))
            return -1;
    return 0;
}

int hpcbd_dealt_parse(const char *text, const char *nonce, hpcbd_dealt_t *dealt,
                      hpcb_error_t *err)
{
    char found[HPCBD_NONCE_MAX];
    hpcb_rjson_auto hpcb_rjson_t *message =
        hpcbd_message_read(text, DEAL, nonce ? found : NULL);

    if (!message || (nonce && strcmp(found, nonce) != 0) || read_deal(message, dealt))
        return is_no_message("deal", err);
    return 0;
}
