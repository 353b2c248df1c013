/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>

#include "common/cleanup.h"
#include "jobsubmit/comment.h"

static void put_object(json_object **object)
{
    json_object_put(*object);
}

static void free_tokener(json_tokener **tokener)
{
    if (*tokener)
        json_tokener_free(*tokener);
}

#define AUTO_OBJECT  __attribute__((cleanup(put_object)))
#define AUTO_TOKENER __attribute__((cleanup(free_tokener)))

/* The object that text is as a whole; NULL where it is anything else. */
static json_object *parse_object(const char *text)
{
    AUTO_TOKENER json_tokener *tokener = json_tokener_new();
    AUTO_OBJECT json_object *object = NULL;
    size_t length = strlen(text);

    if (!tokener || length >= INT_MAX)
        return NULL;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    /* With its NUL, so that the tokener knows where the text ends; strict, it takes
     * nothing behind the object. */
    object = json_tokener_parse_ex(tokener, text, (int)length + 1);
    if (json_tokener_get_error(tokener) != json_tokener_success ||
        !json_object_is_type(object, json_type_object))
        return NULL;
    return json_object_get(object);
}

/* Add value, which the object then owns.  0, or -1 when memory runs out. */
static int add(json_object *object, const char *key, json_object *value)
{
    if (value && json_object_object_add(object, key, value) == 0)
        return 0;
    json_object_put(value);
    return -1;
}

static json_object *start_object(const char *before)
{
    json_object *object = before && *before ? parse_object(before) : NULL;

    if (object)
        return object;
    object = json_object_new_object();
    if (object && before && *before &&
        add(object, "comment", json_object_new_string(before))) {
        json_object_put(object);
        return NULL;
    }
    return object;
}

char *hpcb_comment_merge(const char *before, const char *tag, hpcb_error_t *err)
{
    AUTO_OBJECT json_object *ours = parse_object(tag);
    AUTO_OBJECT json_object *merged = ours ? start_object(before) : NULL;
    const char *text;
    char *copy;

    if (!merged) {
        hpcb_error(err, ours ? "out of memory" : "no tag of a job: %.64s", tag);
        return NULL;
    }
    json_object_object_foreach(ours, key, value)
    {
        if (add(merged, key, json_object_get(value))) {
            hpcb_error(err, "out of memory");
            return NULL;
        }
    }
    text = json_object_to_json_string_ext(merged, JSON_C_TO_STRING_PLAIN |
                                                      JSON_C_TO_STRING_NOSLASHESCAPE);
    copy = text ? strdup(text) : NULL;
    if (!copy)
        hpcb_error(err, "out of memory");
    return copy;
}
