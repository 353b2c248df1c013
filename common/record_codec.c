/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/record_codec.h"
#include "common/text.h"

static const void *value_of(const hpcb_field_t *field, const hpcb_record_t *record)
{
    return (const char *)record + field->member.offset;
}

static void *place_of(const hpcb_field_t *field, hpcb_record_t *record)
{
    return (char *)record + field->member.offset;
}

/* ---- Always known ---- */

static int write_u32(hpcb_rjson_t *object, const hpcb_field_t *field,
                     const hpcb_record_t *record)
{
    const uint32_t *value = value_of(field, record);

    return hpcb_rjson_add_u64(object, field->name, *value);
}

static int read_u32(hpcb_rjson_t *object, const hpcb_field_t *field,
                    hpcb_record_t *record)
{
    uint64_t wide;

    if (hpcb_rjson_get_u64(object, field->name, UINT32_MAX, &wide))
        return -1;
    *(uint32_t *)place_of(field, record) = (uint32_t)wide;
    return 0;
}

static int write_u64(hpcb_rjson_t *object, const hpcb_field_t *field,
                     const hpcb_record_t *record)
{
    const uint64_t *value = value_of(field, record);

    return hpcb_rjson_add_u64(object, field->name, *value);
}

static int read_u64(hpcb_rjson_t *object, const hpcb_field_t *field,
                    hpcb_record_t *record)
{
    return hpcb_rjson_get_u64(object, field->name, UINT64_MAX, place_of(field, record));
}

static int write_seconds(hpcb_rjson_t *object, const hpcb_field_t *field,
                         const hpcb_record_t *record)
{
    const uint64_t *us = value_of(field, record);

    return hpcb_rjson_add_millionths(object, field->name, *us);
}

static int read_seconds(hpcb_rjson_t *object, const hpcb_field_t *field,
                        hpcb_record_t *record)
{
    return hpcb_rjson_get_seconds(object, field->name, place_of(field, record));
}

static int write_word(hpcb_rjson_t *object, const hpcb_field_t *field,
                      const hpcb_record_t *record)
{
    return hpcb_rjson_add_text(object, field->name, value_of(field, record));
}

static int read_word(hpcb_rjson_t *object, const hpcb_field_t *field,
                     hpcb_record_t *record)
{
    return hpcb_rjson_get_word(object, field->name, place_of(field, record),
                               field->member.size);
}

static bool is_name(const char *text)
{
    return hpcb_text_is_name(text, HPCB_NAME_MAX);
}

static int read_name(hpcb_rjson_t *object, const hpcb_field_t *field,
                     hpcb_record_t *record)
{
    return read_word(object, field, record) || !is_name(value_of(field, record)) ? -1
                                                                                 : 0;
}

static int write_class(hpcb_rjson_t *object, const hpcb_field_t *field,
                       const hpcb_record_t *record)
{
    const hpcb_class_t *klass = value_of(field, record);

    return hpcb_rjson_add_text(object, field->name, hpcb_class_name(*klass));
}

static int read_class(hpcb_rjson_t *object, const hpcb_field_t *field,
                      hpcb_record_t *record)
{
    const char *text = hpcb_rjson_get_text(object, field->name);

    return text ? hpcb_class_from_name(text, place_of(field, record)) : -1;
}

static int write_policy(hpcb_rjson_t *object, const hpcb_field_t *field,
                        const hpcb_record_t *record)
{
    const hpcb_policy_t *policy = value_of(field, record);

    return hpcb_rjson_add_text(object, field->name, hpcb_policy_name(*policy));
}

static int read_policy(hpcb_rjson_t *object, const hpcb_field_t *field,
                       hpcb_record_t *record)
{
    const char *text = hpcb_rjson_get_text(object, field->name);

    return text ? hpcb_policy_from_name(text, place_of(field, record)) : -1;
}

const hpcb_codec_t hpcb_codec_u32 = {sizeof(uint32_t), write_u32, read_u32, NULL};
const hpcb_codec_t hpcb_codec_u64 = {sizeof(uint64_t), write_u64, read_u64, NULL};
const hpcb_codec_t hpcb_codec_seconds = {sizeof(uint64_t), write_seconds, read_seconds,
                                         NULL};
const hpcb_codec_t hpcb_codec_name = {0, write_word, read_name, is_name};
const hpcb_codec_t hpcb_codec_word = {0, write_word, read_word, hpcb_rjson_is_ascii};
const hpcb_codec_t hpcb_codec_class = {sizeof(hpcb_class_t), write_class, read_class,
                                       NULL};
const hpcb_codec_t hpcb_codec_policy = {sizeof(hpcb_policy_t), write_policy,
                                        read_policy, NULL};

/* ---- Known or not ---- */

static bool is_missing(hpcb_rjson_t *object, const char *key)
{
    hpcb_rjson_t *member;

    return !json_object_object_get_ex(object, key, &member) || !member;
}

static int write_known(hpcb_rjson_t *object, const char *key, bool known,
                       uint64_t value)
{
    return known ? hpcb_rjson_add_u64(object, key, value)
                 : hpcb_rjson_add_null(object, key);
}

static int write_known_u32(hpcb_rjson_t *object, const hpcb_field_t *field,
                           const hpcb_record_t *record)
{
    const uint32_t *value = value_of(field, record);

    return write_known(object, field->name, *value, *value);
}

static int read_known_u32(hpcb_rjson_t *object, const hpcb_field_t *field,
                          hpcb_record_t *record)
{
    uint64_t wide = 0;

    if (!is_missing(object, field->name) &&
        hpcb_rjson_get_u64(object, field->name, UINT32_MAX - 1, &wide))
        return -1;
    *(uint32_t *)place_of(field, record) = (uint32_t)wide;
    return 0;
}

static int write_array_task(hpcb_rjson_t *object, const hpcb_field_t *field,
                            const hpcb_record_t *record)
{
    const uint32_t *value = value_of(field, record);

    return write_known(object, field->name, record->about.array_job, *value);
}

static int write_known_u64(hpcb_rjson_t *object, const hpcb_field_t *field,
                           const hpcb_record_t *record)
{
    const uint64_t *value = value_of(field, record);

    return write_known(object, field->name, *value, *value);
}

static int read_known_u64(hpcb_rjson_t *object, const hpcb_field_t *field,
                          hpcb_record_t *record)
{
    return is_missing(object, field->name)
               ? 0
               : hpcb_rjson_get_u64(object, field->name, INT64_MAX,
                                    place_of(field, record));
}

static int write_known_word(hpcb_rjson_t *object, const hpcb_field_t *field,
                            const hpcb_record_t *record)
{
    return hpcb_rjson_add_text_or_null(object, field->name, value_of(field, record));
}

static int read_known_word(hpcb_rjson_t *object, const hpcb_field_t *field,
                           hpcb_record_t *record)
{
    return is_missing(object, field->name) ? 0 : read_word(object, field, record);
}

static int write_flag(hpcb_rjson_t *object, const hpcb_field_t *field,
                      const hpcb_record_t *record)
{
    const uint32_t *value = value_of(field, record);

    return *value ? hpcb_rjson_add_bool(object, field->name, true)
                  : hpcb_rjson_add_null(object, field->name);
}

static int read_flag(hpcb_rjson_t *object, const hpcb_field_t *field,
                     hpcb_record_t *record)
{
    hpcb_rjson_t *member = json_object_object_get(object, field->name);

    if (member && !json_object_is_type(member, json_type_boolean))
        return -1;
    *(uint32_t *)place_of(field, record) = json_object_get_boolean(member);
    return 0;
}

const hpcb_codec_t hpcb_codec_flag = {sizeof(uint32_t), write_flag, read_flag, NULL};
const hpcb_codec_t hpcb_codec_count = {sizeof(uint32_t), write_u32, read_known_u32,
                                       NULL};
const hpcb_codec_t hpcb_codec_known_u32 = {sizeof(uint32_t), write_known_u32,
                                           read_known_u32, NULL};
const hpcb_codec_t hpcb_codec_known_u64 = {sizeof(uint64_t), write_known_u64,
                                           read_known_u64, NULL};
const hpcb_codec_t hpcb_codec_known_word = {0, write_known_word, read_known_word, NULL};
const hpcb_codec_t hpcb_codec_array_task = {sizeof(uint32_t), write_array_task,
                                            read_known_u32, NULL};

/* ---- Measured by hpcbd ---- */

static int write_bytes(hpcb_rjson_t *object, const hpcb_field_t *field,
                       const hpcb_record_t *record)
{
    const hpcb_measure_t *measure = value_of(field, record);

    return write_known(object, field->name, measure->known, measure->bytes);
}

static int write_rate(hpcb_rjson_t *object, const hpcb_field_t *field,
                      const hpcb_record_t *record)
{
    const hpcb_measure_t *measure = value_of(field, record);

    return write_known(object, field->name, measure->known, measure->p95);
}

static int write_reason(hpcb_rjson_t *object, const hpcb_field_t *field,
                        const hpcb_record_t *record)
{
    const hpcb_measure_t *measure = value_of(field, record);

    return hpcb_rjson_add_text_or_null(object, field->name,
                                       measure->known ? "" : measure->why);
}

const hpcb_codec_t hpcb_codec_bytes = {sizeof(hpcb_measure_t), write_bytes, NULL, NULL};
const hpcb_codec_t hpcb_codec_rate = {sizeof(hpcb_measure_t), write_rate, NULL, NULL};
const hpcb_codec_t hpcb_codec_reason = {sizeof(hpcb_measure_t), write_reason, NULL,
                                        NULL};

static int write_cost(hpcb_rjson_t *object, const hpcb_field_t *field,
                      const hpcb_record_t *record)
{
    const int64_t *cost = value_of(field, record);

    return *cost == HPCB_COST_UNKNOWN
               ? hpcb_rjson_add_null(object, field->name)
               : hpcb_rjson_add_signed_millionths(object, field->name, *cost);
}

const hpcb_codec_t hpcb_codec_cost = {sizeof(int64_t), write_cost, NULL, NULL};

static int write_elected(hpcb_rjson_t *object, const hpcb_field_t *field,
                         const hpcb_record_t *record)
{
    const uint64_t *us = value_of(field, record);

    return *us == HPCB_ELECTED_UNKNOWN
               ? hpcb_rjson_add_null(object, field->name)
               : hpcb_rjson_add_millionths(object, field->name, *us);
}

const hpcb_codec_t hpcb_codec_elected = {sizeof(uint64_t), write_elected, NULL, NULL};

static int write_restraint(hpcb_rjson_t *object, const hpcb_field_t *field,
                           const hpcb_record_t *record)
{
    const uint64_t *value = value_of(field, record);

    return write_known(object, field->name, *value != HPCB_RESTRAINT_UNKNOWN, *value);
}

static int write_restraint_time(hpcb_rjson_t *object, const hpcb_field_t *field,
                                const hpcb_record_t *record)
{
    const uint64_t *us = value_of(field, record);

    return *us == HPCB_RESTRAINT_UNKNOWN
               ? hpcb_rjson_add_null(object, field->name)
               : hpcb_rjson_add_millionths(object, field->name, *us);
}

const hpcb_codec_t hpcb_codec_restraint = {sizeof(uint64_t), write_restraint, NULL,
                                           NULL};
const hpcb_codec_t hpcb_codec_restraint_time = {sizeof(uint64_t), write_restraint_time,
                                                NULL, NULL};

/* ---- Computed ---- */

/* Clocks may go backwards. */
static uint64_t wall_us(const hpcb_record_t *record)
{
    uint64_t begin = record->job.begin_us;

    return record->end_us > begin ? record->end_us - begin : 0;
}

static int write_wall(hpcb_rjson_t *object, const hpcb_field_t *field,
                      const hpcb_record_t *record)
{
    return hpcb_rjson_add_millionths(object, field->name, wall_us(record));
}

static int write_efficiency(hpcb_rjson_t *object, const hpcb_field_t *field,
                            const hpcb_record_t *record)
{
    return hpcb_rjson_add_ratio(object, field->name, record->usage.cpu_us,
                                (double)wall_us(record) * record->cpus);
}

static int write_stolen(hpcb_rjson_t *object, const hpcb_field_t *field,
                        const hpcb_record_t *record)
{
    return hpcb_rjson_add_ratio(object, field->name, record->usage.run_delay_us,
                                (double)wall_us(record));
}

const hpcb_codec_t hpcb_codec_wall = {sizeof(uint64_t), write_wall, NULL, NULL};
const hpcb_codec_t hpcb_codec_efficiency = {sizeof(hpcb_usage_t), write_efficiency,
                                            NULL, NULL};
const hpcb_codec_t hpcb_codec_stolen = {sizeof(hpcb_usage_t), write_stolen, NULL, NULL};
