/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include "hpcbctl/output.h"

#define MILLION 1000000u

int hpcb_json_add(json_object *object, const char *key, json_object *value)
{
    if (value && json_object_object_add(object, key, value) == 0)
        return 0;
    json_object_put(value);
    return -1;
}

int hpcb_json_append(json_object *array, json_object *value)
{
    if (value && json_object_array_add(array, value) == 0)
        return 0;
    json_object_put(value);
    return -1;
}

int hpcb_json_text(json_object *object, const char *key, const char *text)
{
    if (!text)
        return json_object_object_add(object, key, NULL);
    return hpcb_json_add(object, key, json_object_new_string(text));
}

int hpcb_json_u64(json_object *object, const char *key, uint64_t value)
{
    return hpcb_json_add(object, key, json_object_new_uint64(value));
}

int hpcb_json_bool(json_object *object, const char *key, bool value)
{
    return hpcb_json_add(object, key, json_object_new_boolean(value));
}

int hpcb_json_seconds(json_object *object, const char *key, uint64_t us)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, us / MILLION, us % MILLION);
    return hpcb_json_add(object, key,
                         json_object_new_double_s((double)us / MILLION, text));
}

const char *hpcb_json_get_text(json_object *object, const char *key)
{
    const char *text = json_object_get_string(json_object_object_get(object, key));

    return text ? text : "";
}

uint64_t hpcb_json_get_u64(json_object *object, const char *key)
{
    return json_object_get_uint64(json_object_object_get(object, key));
}

double hpcb_json_get_double(json_object *object, const char *key)
{
    return json_object_get_double(json_object_object_get(object, key));
}

bool hpcb_json_get_bool(json_object *object, const char *key)
{
    return json_object_get_boolean(json_object_object_get(object, key));
}

int hpcb_json_print(json_object *object, FILE *out)
{
    const char *text = json_object_to_json_string_ext(
        object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);

    if (!text || fprintf(out, "%s\n", text) < 0)
        return -1;
    return fflush(out);
}
