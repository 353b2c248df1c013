/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Times are seconds with six decimals, made and read from microseconds, so that what
 * was rendered is parsed to the same figures.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/record_json.h"
#include "common/text.h"

#define MILLION   1000000u
#define DEPTH_MAX 16 /* deeper JSON is none of ours */

/* Up to this value (285 years) a double resolves microseconds. */
#define TIME_MAX_US ((double)(UINT64_C(1) << 53))

int hpcb_rjson_add(hpcb_rjson_t *object, const char *key, hpcb_rjson_t *value)
{
    if (value && json_object_object_add(object, key, value) == 0)
        return 0;
    json_object_put(value);
    return -1;
}

int hpcb_rjson_add_null(hpcb_rjson_t *object, const char *key)
{
    return json_object_object_add(object, key, NULL);
}

int hpcb_rjson_add_u64(hpcb_rjson_t *object, const char *key, uint64_t value)
{
    return hpcb_rjson_add(object, key, json_object_new_uint64(value));
}

int hpcb_rjson_add_text(hpcb_rjson_t *object, const char *key, const char *value)
{
    return hpcb_rjson_add(object, key, json_object_new_string(value));
}

int hpcb_rjson_add_bool(hpcb_rjson_t *object, const char *key, bool value)
{
    return hpcb_rjson_add(object, key, json_object_new_boolean(value));
}

int hpcb_rjson_append(hpcb_rjson_t *array, hpcb_rjson_t *value)
{
    if (value && json_object_array_add(array, value) == 0)
        return 0;
    json_object_put(value);
    return -1;
}

int hpcb_rjson_add_text_or_null(hpcb_rjson_t *object, const char *key,
                                const char *value)
{
    return *value ? hpcb_rjson_add_text(object, key, value)
                  : hpcb_rjson_add_null(object, key);
}

static int add_number(hpcb_rjson_t *object, const char *key, bool negative,
                      uint64_t millionths)
{
    double value = (double)millionths / MILLION;
    char text[32];

    snprintf(text, sizeof(text), "%s%" PRIu64 ".%06" PRIu64, negative ? "-" : "",
             millionths / MILLION, millionths % MILLION);
    return hpcb_rjson_add(object, key,
                          json_object_new_double_s(negative ? -value : value, text));
}

int hpcb_rjson_add_millionths(hpcb_rjson_t *object, const char *key,
                              uint64_t millionths)
{
    return add_number(object, key, false, millionths);
}

int hpcb_rjson_add_signed_millionths(hpcb_rjson_t *object, const char *key,
                                     int64_t millionths)
{
    return add_number(object, key, millionths < 0,
                      (uint64_t)(millionths < 0 ? -millionths : millionths));
}

int hpcb_rjson_add_ratio(hpcb_rjson_t *object, const char *key, uint64_t numerator,
                         double denominator)
{
    double ratio = denominator > 0 ? (double)numerator / denominator : -1;

    if (ratio < 0 || ratio > (double)UINT32_MAX)
        return hpcb_rjson_add_null(object, key);
    return hpcb_rjson_add_millionths(object, key, (uint64_t)(ratio * MILLION + 0.5));
}

char *hpcb_rjson_print(hpcb_rjson_t *object, const char *end, hpcb_error_t *err)
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

bool hpcb_rjson_is_ascii(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

hpcb_rjson_t *hpcb_rjson_parse(const char *text)
{
    struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    hpcb_rjson_t *object;

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

int hpcb_rjson_get_u64(hpcb_rjson_t *object, const char *key, uint64_t max,
                       uint64_t *value)
{
    hpcb_rjson_t *member;

    if (!json_object_object_get_ex(object, key, &member) ||
        !json_object_is_type(member, json_type_int) ||
        json_object_get_int64(member) < 0 || json_object_get_uint64(member) > max)
        return -1;
    *value = json_object_get_uint64(member);
    return 0;
}

/* Our own form is read to the microsecond; what other writers made of it ("1.5e9")
 * goes through a double. */
int hpcb_rjson_get_seconds(hpcb_rjson_t *object, const char *key, uint64_t *us)
{
    hpcb_decimal_t decimal;
    const char *rest;
    hpcb_rjson_t *member;
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

const char *hpcb_rjson_get_text(hpcb_rjson_t *object, const char *key)
{
    hpcb_rjson_t *member;
    const char *text;

    if (!json_object_object_get_ex(object, key, &member) ||
        !json_object_is_type(member, json_type_string))
        return NULL;
    text = json_object_get_string(member);
    return strlen(text) == (size_t)json_object_get_string_len(member) ? text : NULL;
}

int hpcb_rjson_get_word(hpcb_rjson_t *object, const char *key, char *word, size_t size)
{
    const char *text = hpcb_rjson_get_text(object, key);

    if (!text || !hpcb_rjson_is_ascii(text))
        return -1;
    return hpcb_text_copy(word, size, text);
}
