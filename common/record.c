/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Records and tags as JSON.  Times are seconds with six decimals, made and read from
 * microseconds, so that what was rendered is parsed to the same figures.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/record.h"
#include "common/text.h"

#define TAG_VERSION 1
#define MILLION     1000000u
#define DEPTH_MAX   16 /* deeper JSON is none of ours */

/* Up to here (285 years) a double tells microseconds apart. */
#define TIME_MAX_US ((double)(UINT64_C(1) << 53))

typedef struct json_object json_t;

static void put_json(json_t **object)
{
    json_object_put(*object);
}

#define autojson __attribute__((cleanup(put_json)))

/* Takes value over, also on failure.  value NULL: out of memory. */
static int add(json_t *object, const char *key, json_t *value)
{
    if (value && json_object_object_add(object, key, value) == 0)
        return 0;
    json_object_put(value);
    return -1;
}

static int add_null(json_t *object, const char *key)
{
    return json_object_object_add(object, key, NULL);
}

static int add_u64(json_t *object, const char *key, uint64_t value)
{
    return add(object, key, json_object_new_uint64(value));
}

static int add_text(json_t *object, const char *key, const char *value)
{
    return add(object, key, json_object_new_string(value));
}

/* A number with six decimals, in any locale. */
static int add_millionths(json_t *object, const char *key, uint64_t millionths)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, millionths / MILLION,
             millionths % MILLION);
    return add(object, key,
               json_object_new_double_s((double)millionths / MILLION, text));
}

/* numerator / denominator, null where that is unknown. */
static int add_ratio(json_t *object, const char *key, uint64_t numerator,
                     double denominator)
{
    double ratio = denominator > 0 ? (double)numerator / denominator : -1;

    if (ratio < 0 || ratio > (double)UINT32_MAX)
        return add_null(object, key);
    return add_millionths(object, key, (uint64_t)(ratio * MILLION + 0.5));
}

static char *print(json_t *object, const char *end, hpcb_error_t *err)
{
    const char *text = json_object_to_json_string_ext(
        object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    char *line = NULL;

    if (!text || asprintf(&line, "%s%s", text, end) < 0) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    return line;
}

static int add_job(json_t *object, const hpcb_record_t *record)
{
    const hpcb_job_state_t *job = &record->job;

    return add_u64(object, "version", HPCB_RECORD_VERSION) ||
           add_u64(object, "job_id", job->job_id) ||
           add_text(object, "node", record->node) ||
           add_text(object, "cluster", record->cluster) ||
           add_text(object, "class", hpcb_class_name(job->klass)) ||
           add_text(object, "policy", hpcb_policy_name(job->policy)) ||
           add_u64(object, "user_id", job->uid) ||
           add_text(object, "partition", job->partition);
}

static int add_figures(json_t *object, const hpcb_record_t *record)
{
    const hpcb_usage_t *usage = &record->usage;
    uint64_t begin = record->job.begin_us;
    uint64_t wall = record->end_us > begin ? record->end_us - begin : 0;

    return add_millionths(object, "begin", begin) ||
           add_millionths(object, "end", record->end_us) ||
           add_millionths(object, "wall_seconds", wall) ||
           add_u64(object, "cpus", record->cpus) ||
           add_millionths(object, "cpu_seconds", usage->cpu_us) ||
           add_millionths(object, "run_delay_seconds", usage->run_delay_us) ||
           add_u64(object, "memory_peak_bytes", usage->memory_peak) ||
           add_ratio(object, "efficiency", usage->cpu_us,
                     (double)wall * record->cpus) ||
           add_ratio(object, "stolen_fraction", usage->run_delay_us, (double)wall);
}

static bool is_ascii_or_empty(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

static int check_names(const hpcb_record_t *record, hpcb_error_t *err)
{
    const char *what = NULL;

    if (!hpcb_text_is_name(record->node, HPCB_NAME_MAX))
        what = "node";
    else if (!is_ascii_or_empty(record->cluster))
        what = "cluster";
    else if (!is_ascii_or_empty(record->job.partition))
        what = "partition";
    if (!what)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "a record's %s is not a name", what);
}

char *hpcb_record_render(const hpcb_record_t *record, hpcb_error_t *err)
{
    autojson json_t *object = NULL;

    if (check_names(record, err))
        return NULL;
    object = json_object_new_object();
    if (!object || add_job(object, record) || add_figures(object, record)) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    return print(object, "\n", err);
}

/* One JSON object and nothing after it but blanks (JSON_TOKENER_STRICT), or NULL. */
static json_t *parse_object(const char *text)
{
    struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    json_t *object;

    if (!tokener)
        return NULL;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    object = json_tokener_parse_ex(tokener, text, -1);
    json_tokener_free(tokener);
    if (json_object_is_type(object, json_type_object))
        return object;
    json_object_put(object);
    return NULL;
}

static int get_u64(json_t *object, const char *key, uint64_t max, uint64_t *value)
{
    json_t *member;

    if (!json_object_object_get_ex(object, key, &member) ||
        !json_object_is_type(member, json_type_int) ||
        json_object_get_int64(member) < 0 || json_object_get_uint64(member) > max)
        return -1;
    *value = json_object_get_uint64(member);
    return 0;
}

/* Our own form is read to the microsecond; what other writers made of it ("1.5e9")
 * goes through a double. */
static int get_seconds(json_t *object, const char *key, uint64_t *us)
{
    hpcb_decimal_t decimal;
    const char *rest;
    json_t *member;
    double micro;

    if (!json_object_object_get_ex(object, key, &member) ||
        (!json_object_is_type(member, json_type_double) &&
         !json_object_is_type(member, json_type_int)))
        return -1;
    rest = hpcb_text_decimal(json_object_get_string(member), &decimal);
    if (rest && *rest == '\0')
        return hpcb_decimal_scale(&decimal, MILLION, UINT64_MAX, us);
    micro = json_object_get_double(member) * MILLION;
    if (!(micro >= 0 && micro <= TIME_MAX_US))
        return -1;
    *us = (uint64_t)(micro + 0.5);
    return 0;
}

/* The member's text, where it holds no NUL; else NULL. */
static const char *get_text(json_t *object, const char *key)
{
    json_t *member;
    const char *text;

    if (!json_object_object_get_ex(object, key, &member) ||
        !json_object_is_type(member, json_type_string))
        return NULL;
    text = json_object_get_string(member);
    return strlen(text) == (size_t)json_object_get_string_len(member) ? text : NULL;
}

static int get_word(json_t *object, const char *key, char *word)
{
    const char *text = get_text(object, key);

    if (!text || !is_ascii_or_empty(text))
        return -1;
    return hpcb_text_copy(word, HPCB_NAME_MAX, text);
}

static int get_class(json_t *object, hpcb_class_t *klass)
{
    const char *text = get_text(object, "class");

    return text ? hpcb_class_from_name(text, klass) : -1;
}

static int get_policy(json_t *object, hpcb_policy_t *policy)
{
    const char *text = get_text(object, "policy");

    return text ? hpcb_policy_from_name(text, policy) : -1;
}

/* Returns the key that is missing or cannot be, or NULL. */
static const char *get_job(json_t *object, hpcb_record_t *record)
{
    uint64_t job_id, uid, cpus;

    if (get_u64(object, "job_id", UINT32_MAX, &job_id))
        return "job_id";
    if (get_word(object, "node", record->node) ||
        !hpcb_text_is_name(record->node, HPCB_NAME_MAX))
        return "node";
    if (get_word(object, "cluster", record->cluster))
        return "cluster";
    if (get_class(object, &record->job.klass))
        return "class";
    if (get_policy(object, &record->job.policy))
        return "policy";
    if (get_u64(object, "user_id", UINT32_MAX, &uid))
        return "user_id";
    if (get_word(object, "partition", record->job.partition))
        return "partition";
    if (get_u64(object, "cpus", UINT32_MAX, &cpus))
        return "cpus";
    record->job.job_id = (uint32_t)job_id;
    record->job.uid = (uid_t)uid;
    record->cpus = (unsigned)cpus;
    return NULL;
}

static const char *get_figures(json_t *object, hpcb_record_t *record)
{
    if (get_seconds(object, "begin", &record->job.begin_us))
        return "begin";
    if (get_seconds(object, "end", &record->end_us))
        return "end";
    if (get_seconds(object, "cpu_seconds", &record->usage.cpu_us))
        return "cpu_seconds";
    if (get_seconds(object, "run_delay_seconds", &record->usage.run_delay_us))
        return "run_delay_seconds";
    if (get_u64(object, "memory_peak_bytes", UINT64_MAX, &record->usage.memory_peak))
        return "memory_peak_bytes";
    return NULL;
}

static int parse(const char *text, hpcb_record_t *record, hpcb_error_t *err)
{
    autojson json_t *object = parse_object(text);
    const char *bad;
    uint64_t version;

    if (!object)
        return hpcb_error(err, "not a record: not one JSON object");
    if (get_u64(object, "version", UINT64_MAX, &version))
        return hpcb_error(err, "not a record: no version");
    if (version != HPCB_RECORD_VERSION)
        return hpcb_error(err, "a record of version %" PRIu64 "; this release reads %d",
                          version, HPCB_RECORD_VERSION);
    bad = get_job(object, record);
    if (!bad)
        bad = get_figures(object, record);
    if (bad)
        return hpcb_error(err, "a record's %s is missing or cannot be", bad);
    return 0;
}

int hpcb_record_parse(const char *text, hpcb_record_t *record, hpcb_error_t *err)
{
    hpcb_record_t read = {0};

    if (parse(text, &read, err)) {
        errno = EINVAL; /* json-c 0.19 sets it to 0 when it reads a number */
        return -1;
    }
    *record = read;
    return 0;
}

int hpcb_record_write(const char *spool_dir, const hpcb_record_t *record,
                      hpcb_error_t *err)
{
    hpcb_autofree char *line = hpcb_record_render(record, err);
    char dir[PATH_MAX], path[PATH_MAX];

    if (!line)
        return -1;
    if (snprintf(dir, sizeof(dir), "%s/records", spool_dir) >= (int)sizeof(dir) ||
        snprintf(path, sizeof(path), "%s/%" PRIu32 ".%s.json", dir, record->job.job_id,
                 record->node) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return hpcb_error(err, "the spool directory's name is too long");
    }
    if (hpcb_file_mkdirs(dir, 0755, err))
        return -1;
    return hpcb_file_replace(path, line, strlen(line), 0644, err);
}

static int add_bandwidth(json_t *object, const hpcb_tag_t *tag)
{
    const hpcb_options_t *options = tag->options;
    json_t *bw;

    if (options->bw_mem == 0 && options->bw_net == 0 && !(options->bw_cpu > 0))
        return 0;
    bw = json_object_new_object();
    if (add(object, "bw", bw))
        return -1;
    if ((options->bw_mem && add_u64(bw, "mem", options->bw_mem)) ||
        (options->bw_net && add_u64(bw, "net", options->bw_net)))
        return -1;
    if (options->bw_cpu > 0 &&
        add_millionths(bw, "cpu", (uint64_t)(options->bw_cpu * MILLION + 0.5)))
        return -1;
    return add_text(bw, "source", tag->learned ? "learned" : "given");
}

/* A quotation mark or a backslash takes two bytes. */
static int add_program(json_t *object, const char *program)
{
    if (!program || !*program || !is_ascii_or_empty(program) ||
        strlen(program) >= HPCB_TAG_PROGRAM_MAX)
        return 0;
    return add_text(object, "program", program);
}

static int add_tag(json_t *outer, const hpcb_tag_t *tag)
{
    hpcb_policy_t policy = tag->options->policy;
    json_t *object = json_object_new_object();

    if (add(outer, "hpcb", object) || add_u64(object, "v", TAG_VERSION))
        return -1;
    if (tag->klass != HPCB_CLASS_UNKNOWN &&
        add_text(object, "class", hpcb_class_name(tag->klass)))
        return -1;
    if (policy != HPCB_POLICY_NONE &&
        add_text(object, "policy", hpcb_policy_name(policy)))
        return -1;
    return add_bandwidth(object, tag) || add_program(object, tag->program);
}

char *hpcb_record_tag(const hpcb_tag_t *tag, hpcb_error_t *err)
{
    autojson json_t *outer = json_object_new_object();

    if (!outer || add_tag(outer, tag)) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    return print(outer, "", err);
}

hpcb_class_t hpcb_record_tag_class(const char *admin_comment)
{
    autojson json_t *outer = admin_comment ? parse_object(admin_comment) : NULL;
    hpcb_class_t klass = HPCB_CLASS_UNKNOWN;
    json_t *tag;

    if (outer && json_object_object_get_ex(outer, "hpcb", &tag) &&
        json_object_is_type(tag, json_type_object))
        get_class(tag, &klass);
    return klass;
}
