/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Records of nodes as JSON. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/record.h"
#include "common/record_parts.h"
#include "common/text.h"

static int add_job(hpcb_rjson_t *object, const hpcb_record_t *record)
{
    const hpcb_job_state_t *job = &record->job;

    return hpcb_rjson_add_u64(object, "version", HPCB_RECORD_VERSION) ||
           hpcb_rjson_add_u64(object, "job_id", job->job_id) ||
           hpcb_rjson_add_text(object, "node", record->node) ||
           hpcb_rjson_add_text(object, "cluster", record->cluster) ||
           hpcb_rjson_add_text(object, "class", hpcb_class_name(job->klass)) ||
           hpcb_rjson_add_text(object, "policy", hpcb_policy_name(job->policy)) ||
           hpcb_rjson_add_u64(object, "user_id", job->uid) ||
           hpcb_rjson_add_text(object, "partition", job->partition);
}

static int add_known(hpcb_rjson_t *object, const char *key, bool known, uint64_t value)
{
    return known ? hpcb_rjson_add_u64(object, key, value)
                 : hpcb_rjson_add_null(object, key);
}

int hpcb_record_add_about(hpcb_rjson_t *object, const hpcb_about_t *about)
{
    return hpcb_rjson_add_u64(object, "restart", about->restart) ||
           add_known(object, "array_job_id", about->array_job, about->array_job) ||
           add_known(object, "array_task_id", about->array_job, about->array_task) ||
           add_known(object, "het_job_id", about->het_job, about->het_job) ||
           hpcb_rjson_add_text_or_null(object, "user", about->user) ||
           hpcb_rjson_add_text_or_null(object, "job_name", about->name) ||
           hpcb_rjson_add_text_or_null(object, "executable", about->executable) ||
           add_known(object, "submit", about->submit, about->submit);
}

static int add_task(hpcb_rjson_t *array, const hpcb_task_usage_t *task)
{
    hpcb_rjson_t *object = json_object_new_object();

    if (!object || json_object_array_add(array, object)) {
        json_object_put(object);
        return -1;
    }
    return hpcb_rjson_add_text(object, "step", task->step) ||
           hpcb_rjson_add_u64(object, "task", task->task) ||
           hpcb_rjson_add_millionths(object, "cpu_seconds", task->cpu_us) ||
           hpcb_rjson_add_millionths(object, "run_delay_seconds", task->run_delay_us);
}

int hpcb_record_add_tasks(hpcb_rjson_t *object, const hpcb_task_usage_t *tasks,
                          size_t count)
{
    hpcb_rjson_t *array = json_object_new_array();

    if (hpcb_rjson_add(object, "tasks", array))
        return -1;
    for (size_t i = 0; i < count && i < HPCB_TASKS_MAX; i++)
        if (add_task(array, &tasks[i]))
            return -1;
    return 0;
}

static int add_figures(hpcb_rjson_t *object, const hpcb_record_t *record)
{
    const hpcb_usage_t *usage = &record->usage;
    uint64_t begin = record->job.begin_us;
    uint64_t wall = record->end_us > begin ? record->end_us - begin : 0;

    return hpcb_rjson_add_millionths(object, "begin", begin) ||
           hpcb_rjson_add_millionths(object, "end", record->end_us) ||
           hpcb_rjson_add_millionths(object, "wall_seconds", wall) ||
           hpcb_rjson_add_u64(object, "cpus", record->cpus) ||
           hpcb_rjson_add_millionths(object, "cpu_seconds", usage->cpu_us) ||
           hpcb_rjson_add_millionths(object, "run_delay_seconds",
                                     usage->run_delay_us) ||
           hpcb_rjson_add_u64(object, "memory_peak_bytes", usage->memory_peak) ||
           hpcb_rjson_add_ratio(object, "efficiency", usage->cpu_us,
                                (double)wall * record->cpus) ||
           hpcb_rjson_add_ratio(object, "stolen_fraction", usage->run_delay_us,
                                (double)wall);
}

static int add_measure(hpcb_rjson_t *object, const char *bytes, const char *peak,
                       const char *reason, const hpcb_measure_t *measure)
{
    if (!measure->known)
        return hpcb_rjson_add_null(object, bytes) ||
               hpcb_rjson_add_null(object, peak) ||
               hpcb_rjson_add_text_or_null(object, reason, measure->why);
    return hpcb_rjson_add_u64(object, bytes, measure->bytes) ||
           hpcb_rjson_add_u64(object, peak, measure->p95) ||
           hpcb_rjson_add_null(object, reason);
}

static int add_measured(hpcb_rjson_t *object, const hpcb_measured_t *measured)
{
    return add_measure(object, "network_bytes", "network_peak_rate", "network_reason",
                       &measured->network) ||
           add_measure(object, "memory_bytes", "memory_peak_rate", "memory_reason",
                       &measured->memory);
}

static int check_names(const hpcb_record_t *record, hpcb_error_t *err)
{
    const char *what = NULL;

    if (!hpcb_text_is_name(record->node, HPCB_NAME_MAX))
        what = "node";
    else if (!hpcb_rjson_is_ascii(record->cluster))
        what = "cluster";
    else if (!hpcb_rjson_is_ascii(record->job.partition))
        what = "partition";
    if (!what)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "a record's %s is not a name", what);
}

char *hpcb_record_render(const hpcb_record_t *record, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *object = NULL;

    if (check_names(record, err))
        return NULL;
    object = json_object_new_object();
    if (!object || add_job(object, record) || add_figures(object, record) ||
        add_measured(object, &record->measured) ||
        add_known(object, "nodes", record->about.nodes, record->about.nodes) ||
        hpcb_record_add_about(object, &record->about) ||
        hpcb_record_add_beside(object, &record->beside) ||
        hpcb_record_add_tasks(object, record->tasks, record->n_tasks)) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    return hpcb_rjson_print(object, "\n", err);
}

static int get_class(hpcb_rjson_t *object, hpcb_class_t *klass)
{
    const char *text = hpcb_rjson_get_text(object, "class");

    return text ? hpcb_class_from_name(text, klass) : -1;
}

static int get_policy(hpcb_rjson_t *object, hpcb_policy_t *policy)
{
    const char *text = hpcb_rjson_get_text(object, "policy");

    return text ? hpcb_policy_from_name(text, policy) : -1;
}

/* Returns the key that is missing or cannot be, or NULL. */
static const char *get_job(hpcb_rjson_t *object, hpcb_record_t *record)
{
    uint64_t job_id, uid, cpus;

    if (hpcb_rjson_get_u64(object, "job_id", UINT32_MAX, &job_id))
        return "job_id";
    if (hpcb_rjson_get_word(object, "node", record->node, HPCB_NAME_MAX) ||
        !hpcb_text_is_name(record->node, HPCB_NAME_MAX))
        return "node";
    if (hpcb_rjson_get_word(object, "cluster", record->cluster, HPCB_NAME_MAX))
        return "cluster";
    if (get_class(object, &record->job.klass))
        return "class";
    if (get_policy(object, &record->job.policy))
        return "policy";
    if (hpcb_rjson_get_u64(object, "user_id", UINT32_MAX, &uid))
        return "user_id";
    if (hpcb_rjson_get_word(object, "partition", record->job.partition, HPCB_NAME_MAX))
        return "partition";
    if (hpcb_rjson_get_u64(object, "cpus", UINT32_MAX, &cpus))
        return "cpus";
    record->job.job_id = (uint32_t)job_id;
    record->job.uid = (uid_t)uid;
    record->cpus = (unsigned)cpus;
    return NULL;
}

static const char *get_figures(hpcb_rjson_t *object, hpcb_record_t *record)
{
    if (hpcb_rjson_get_seconds(object, "begin", &record->job.begin_us))
        return "begin";
    if (hpcb_rjson_get_seconds(object, "end", &record->end_us))
        return "end";
    if (hpcb_rjson_get_seconds(object, "cpu_seconds", &record->usage.cpu_us))
        return "cpu_seconds";
    if (hpcb_rjson_get_seconds(object, "run_delay_seconds",
                               &record->usage.run_delay_us))
        return "run_delay_seconds";
    if (hpcb_rjson_get_u64(object, "memory_peak_bytes", UINT64_MAX,
                           &record->usage.memory_peak))
        return "memory_peak_bytes";
    return NULL;
}

static bool is_missing(hpcb_rjson_t *object, const char *key)
{
    hpcb_rjson_t *member;

    return !json_object_object_get_ex(object, key, &member) || !member;
}

/* A member that may be missing or null, and is then 0 or "". */
static int get_optional_u32(hpcb_rjson_t *object, const char *key, uint32_t *value)
{
    uint64_t wide = 0;

    if (!is_missing(object, key) &&
        hpcb_rjson_get_u64(object, key, UINT32_MAX - 1, &wide))
        return -1;
    *value = (uint32_t)wide;
    return 0;
}

static int get_optional_word(hpcb_rjson_t *object, const char *key, char *word,
                             size_t size)
{
    word[0] = '\0';
    return is_missing(object, key) ? 0 : hpcb_rjson_get_word(object, key, word, size);
}

const char *hpcb_record_get_about(hpcb_rjson_t *object, hpcb_about_t *about)
{
    const struct {
        const char *key;
        uint32_t *value;
    } numbers[] = {
        {"restart", &about->restart},          {"nodes", &about->nodes},
        {"array_job_id", &about->array_job},   {"het_job_id", &about->het_job},
        {"array_task_id", &about->array_task},
    };
    const struct {
        const char *key;
        char *word;
        size_t size;
    } words[] = {
        {"user", about->user, sizeof(about->user)},
        {"job_name", about->name, sizeof(about->name)},
        {"executable", about->executable, sizeof(about->executable)},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (get_optional_u32(object, numbers[i].key, numbers[i].value))
            return numbers[i].key;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (get_optional_word(object, words[i].key, words[i].word, words[i].size))
            return words[i].key;
    about->submit = 0;
    if (!is_missing(object, "submit") &&
        hpcb_rjson_get_u64(object, "submit", INT64_MAX, &about->submit))
        return "submit";
    return NULL;
}

static int get_task(hpcb_rjson_t *object, hpcb_task_usage_t *task)
{
    uint64_t number;

    if (!json_object_is_type(object, json_type_object) ||
        hpcb_rjson_get_word(object, "step", task->step, sizeof(task->step)) ||
        hpcb_rjson_get_u64(object, "task", UINT32_MAX, &number) ||
        hpcb_rjson_get_seconds(object, "cpu_seconds", &task->cpu_us) ||
        hpcb_rjson_get_seconds(object, "run_delay_seconds", &task->run_delay_us))
        return -1;
    task->task = (uint32_t)number;
    return 0;
}

long hpcb_record_get_tasks(hpcb_rjson_t *object, hpcb_task_usage_t **tasks)
{
    hpcb_autofree hpcb_task_usage_t *read = NULL;
    hpcb_rjson_t *array;
    size_t count;

    if (!json_object_object_get_ex(object, "tasks", &array) || !array)
        return 0;
    if (!json_object_is_type(array, json_type_array))
        return -1;
    count = json_object_array_length(array);
    if (count == 0)
        return 0;
    read = count <= HPCB_TASKS_MAX ? calloc(count, sizeof(*read)) : NULL;
    for (size_t i = 0; read && i < count; i++)
        if (get_task(json_object_array_get_idx(array, i), &read[i]))
            return -1;
    if (!read)
        return -1;
    *tasks = read;
    read = NULL;
    return (long)count;
}

static int parse(hpcb_rjson_t *object, hpcb_record_t *record, hpcb_error_t *err)
{
    const char *bad;
    uint64_t version;

    if (!object)
        return hpcb_error(err, "not a record: not one JSON object");
    if (hpcb_rjson_get_u64(object, "version", UINT64_MAX, &version))
        return hpcb_error(err, "not a record: no version");
    if (version != HPCB_RECORD_VERSION)
        return hpcb_error(err, "a record of version %" PRIu64 "; this release reads %d",
                          version, HPCB_RECORD_VERSION);
    bad = get_job(object, record);
    if (!bad)
        bad = get_figures(object, record);
    if (!bad)
        bad = hpcb_record_get_about(object, &record->about);
    if (bad)
        return hpcb_error(err, "a record's %s is missing or cannot be", bad);
    return 0;
}

int hpcb_record_from_json(hpcb_rjson_t *object, hpcb_record_t *record,
                          hpcb_error_t *err)
{
    hpcb_record_t read = {0};

    if (parse(object, &read, err)) {
        errno = EINVAL; /* json-c 0.19 sets it to 0 when it reads a number */
        return -1;
    }
    *record = read;
    return 0;
}

int hpcb_record_parse(const char *text, hpcb_record_t *record, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *object = hpcb_rjson_parse(text);

    return hpcb_record_from_json(object, record, err);
}

int hpcb_record_path(const char *dir, const char *place, const hpcb_record_t *record,
                     char path[static PATH_MAX], hpcb_error_t *err)
{
    char restart[16] = "";

    if (record->about.restart)
        snprintf(restart, sizeof(restart), "+%" PRIu32, record->about.restart);
    if (snprintf(path, PATH_MAX, "%s/%s/%" PRIu32 "%s.%s.json", dir, place,
                 record->job.job_id, restart, record->node) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return hpcb_error(err, "the spool directory's name is too long");
}

int hpcb_record_write(const char *dir, const hpcb_record_t *record, hpcb_error_t *err)
{
    hpcb_autofree char *line = hpcb_record_render(record, err);
    char path[PATH_MAX], place[PATH_MAX];

    if (!line || hpcb_record_path(dir, HPCB_SPOOL_RECORDS, record, path, err))
        return -1;
    snprintf(place, sizeof(place), "%.*s", (int)(strrchr(path, '/') - path), path);
    if (hpcb_file_mkdirs(dir, 0755, err) ||
        hpcb_file_mkdirs(place, HPCB_RECORD_DIR_MODE, err))
        return -1;
    return hpcb_file_replace(path, line, strlen(line), HPCB_RECORD_MODE, err);
}
