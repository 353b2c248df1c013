/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * JSON of records and tags through json-c: printable ASCII, times in seconds with six
 * decimals.  For common/record.c, common/tag.c and the messages of hpcbd.
 */
#ifndef HPCB_COMMON_RECORD_JSON_H
#define HPCB_COMMON_RECORD_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "common/error.h"

typedef struct json_object hpcb_rjson_t;

static inline void hpcb_rjson_put(hpcb_rjson_t **object)
{
    json_object_put(*object);
}

#define hpcb_rjson_auto __attribute__((cleanup(hpcb_rjson_put)))

/* Add to an object.  Return 0, or -1 if memory is short.  hpcb_rjson_add takes
 * ownership of value, also on failure; NULL is a failure. */
int hpcb_rjson_add(hpcb_rjson_t *object, const char *key, hpcb_rjson_t *value);
int hpcb_rjson_add_null(hpcb_rjson_t *object, const char *key);
int hpcb_rjson_add_u64(hpcb_rjson_t *object, const char *key, uint64_t value);
int hpcb_rjson_add_text(hpcb_rjson_t *object, const char *key, const char *value);
int hpcb_rjson_add_bool(hpcb_rjson_t *object, const char *key, bool value);

/* Append to an array.  Return 0, or -1 if memory is short.  Takes ownership of value,
 * also on failure; NULL is a failure. */
int hpcb_rjson_append(hpcb_rjson_t *array, hpcb_rjson_t *value);

/* Add null for "". */
int hpcb_rjson_add_text_or_null(hpcb_rjson_t *object, const char *key,
                                const char *value);

/* Add a number with six decimals, in any locale. */
int hpcb_rjson_add_millionths(hpcb_rjson_t *object, const char *key,
                              uint64_t millionths);

/* Add a number with six decimals that may be negative (more than -2^63). */
int hpcb_rjson_add_signed_millionths(hpcb_rjson_t *object, const char *key,
                                     int64_t millionths);

/* Add numerator / denominator, null if it is unknown. */
int hpcb_rjson_add_ratio(hpcb_rjson_t *object, const char *key, uint64_t numerator,
                         double denominator);

/* Print object on one line, followed by end; the caller frees it.  Return NULL with err
 * if memory is short. */
char *hpcb_rjson_print(hpcb_rjson_t *object, const char *end, hpcb_error_t *err);

/* Parse one JSON object with nothing but blanks after it.  Return NULL on failure. */
hpcb_rjson_t *hpcb_rjson_parse(const char *text);

/* Read a member.  Return 0, or -1 with the value unchanged if it is missing, of another
 * type or out of range. */
int hpcb_rjson_get_u64(hpcb_rjson_t *object, const char *key, uint64_t max,
                       uint64_t *value);
int hpcb_rjson_get_seconds(hpcb_rjson_t *object, const char *key, uint64_t *us);

/* Read printable ASCII, which may be empty. */
int hpcb_rjson_get_word(hpcb_rjson_t *object, const char *key, char *word, size_t size);

/* Return the member's text if it contains no NUL, otherwise NULL. */
const char *hpcb_rjson_get_text(hpcb_rjson_t *object, const char *key);

bool hpcb_rjson_is_ascii(const char *text);

#endif
