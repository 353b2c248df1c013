/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* JSON output of the verbs, through json-c. */
#ifndef HPCB_HPCBCTL_OUTPUT_H
#define HPCB_HPCBCTL_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <json-c/json.h>

static inline void hpcb_cleanup_json(json_object **object)
{
    json_object_put(*object);
}

#define hpcb_autojson __attribute__((cleanup(hpcb_cleanup_json)))

/* Add a member to object.  value is consumed, also on failure; NULL means that memory
 * was short when it was created.  Return 0 or -1. */
int hpcb_json_add(json_object *object, const char *key, json_object *value);
/* Append an element to array in the same way. */
int hpcb_json_append(json_object *array, json_object *value);

/* Add members to object.  Return 0, or -1 if memory is short.  text NULL yields null;
 * seconds are written with six decimals, from microseconds. */
int hpcb_json_text(json_object *object, const char *key, const char *text);
int hpcb_json_u64(json_object *object, const char *key, uint64_t value);
int hpcb_json_bool(json_object *object, const char *key, bool value);
int hpcb_json_seconds(json_object *object, const char *key, uint64_t us);

/* Return a member's value; "", 0 or false if there is none. */
const char *hpcb_json_get_text(json_object *object, const char *key);
uint64_t hpcb_json_get_u64(json_object *object, const char *key);
double hpcb_json_get_double(json_object *object, const char *key);
bool hpcb_json_get_bool(json_object *object, const char *key);

/* Print object to out, indented, with a newline at the end.  Return 0, or -1 if it
 * cannot be written. */
int hpcb_json_print(json_object *object, FILE *out);

#endif
