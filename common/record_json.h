/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * JSON through json-c as records and tags use it: printable ASCII, times in seconds
 * with six decimals.  For common/record.c, common/tag.c and the messages of
 * hpcbd.
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

/* Adding to an object: 0, or -1 when memory runs out.  hpcb_rjson_add takes value over,
 * also on failure; NULL is a failure. */
int hpcb_rjson_add(hpcb_rjson_t *object, const char *key, hpcb_rjson_t *value);
int hpcb_rjson_add_null(hpcb_rjson_t *object, const char *key);
int hpcb_rjson_add_u64(hpcb_rjson_t *object, const char *key, uint64_t value);
int hpcb_rjson_add_text(hpcb_rjson_t *object, const char *key, const char *value);

/* null for "". */
int hpcb_rjson_add_text_or_null(hpcb_rjson_t *object, const char *key,
                                const char *value);

/* A number with six decimals, in any locale. */
int hpcb_rjson_add_millionths(hpcb_rjson_t *object, const char *key,
                              uint64_t millionths);

/* The same of a number that may be negative; more than -2^63. */
int hpcb_rjson_add_signed_millionths(hpcb_rjson_t *object, const char *key,
                                     int64_t millionths);

/* numerator / denominator, null where that is unknown. */
int hpcb_rjson_add_ratio(hpcb_rjson_t *object, const char *key, uint64_t numerator,
                         double denominator);

/* object on one line with end after it; the caller frees it.  NULL with err when memory
 * runs out. */
char *hpcb_rjson_print(hpcb_rjson_t *object, const char *end, hpcb_error_t *err);

/* One JSON object and nothing after it but blanks, or NULL. */
hpcb_rjson_t *hpcb_rjson_parse(const char *text);

/* Reading a member: 0, or -1 with the value untouched where it is missing, of another
 * type or out of range. */
int hpcb_rjson_get_u64(hpcb_rjson_t *object, const char *key, uint64_t max,
                       uint64_t *value);
int hpcb_rjson_get_seconds(hpcb_rjson_t *object, const char *key, uint64_t *us);

/* Printable ASCII, may be empty. */
int hpcb_rjson_get_word(hpcb_rjson_t *object, const char *key, char *word, size_t size);

/* The member's text, where it holds no NUL; else NULL. */
const char *hpcb_rjson_get_text(hpcb_rjson_t *object, const char *key);

bool hpcb_rjson_is_ascii(const char *text);

#endif
