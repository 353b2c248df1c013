/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Writing and reading a member of a node's record: column codec of the table of fields
 * (common/record_fields.c). */
#ifndef HPCB_COMMON_RECORD_CODEC_H
#define HPCB_COMMON_RECORD_CODEC_H

#include "common/record.h"
#include "common/record_fields.h"
#include "common/record_json.h"

typedef struct hpcb_codec {
    size_t size; /* of the member that the field's row names; 0: an array of char */

    /* Add the field's member.  Return 0, or -1 if memory is short. */
    int (*write)(hpcb_rjson_t *object, const hpcb_field_t *field,
                 const hpcb_record_t *record);

    /* Read the field's member into the record.  Return 0, or -1 if it is missing or
     * invalid.  NULL: hpcb_record_parse skips it. */
    int (*read)(hpcb_rjson_t *object, const hpcb_field_t *field, hpcb_record_t *record);

    /* Return whether write accepts this text.  NULL: always. */
    bool (*fits)(const char *text);
} hpcb_codec_t;

/* Always known: a missing one is an error. */
extern const hpcb_codec_t hpcb_codec_u32;
extern const hpcb_codec_t hpcb_codec_u64;
extern const hpcb_codec_t hpcb_codec_seconds; /* from microseconds */
extern const hpcb_codec_t hpcb_codec_name;    /* of a node */
extern const hpcb_codec_t hpcb_codec_word;    /* printable ASCII, may be empty */
extern const hpcb_codec_t hpcb_codec_class;
extern const hpcb_codec_t hpcb_codec_policy;

/* 0 or "" when missing or null. */
extern const hpcb_codec_t hpcb_codec_count;      /* 0 is written as 0 … */
extern const hpcb_codec_t hpcb_codec_known_u32;  /* … and here as null */
extern const hpcb_codec_t hpcb_codec_known_u64;  /* up to 2^63 - 1 */
extern const hpcb_codec_t hpcb_codec_known_word; /* "" is written as null */
extern const hpcb_codec_t hpcb_codec_array_task; /* null without an array's id */
extern const hpcb_codec_t hpcb_codec_flag;       /* a number: true, 0 is null */

/* Of one hpcb_measure_t; not read. */
extern const hpcb_codec_t hpcb_codec_bytes;
extern const hpcb_codec_t hpcb_codec_rate;
extern const hpcb_codec_t hpcb_codec_reason;

/* Of one figure of hpcb_guest_cost_t; not read. */
extern const hpcb_codec_t hpcb_codec_cost;

/* Microseconds, written as seconds; HPCB_ELECTED_UNKNOWN is written as null; not
 * read. */
extern const hpcb_codec_t hpcb_codec_elected;

/* One figure of hpcb_restraint_t: a count, or microseconds that are written as seconds;
 * not read. */
extern const hpcb_codec_t hpcb_codec_restraint;
extern const hpcb_codec_t hpcb_codec_restraint_time;

/* Computed from other members; not read. */
extern const hpcb_codec_t hpcb_codec_wall;
extern const hpcb_codec_t hpcb_codec_efficiency;
extern const hpcb_codec_t hpcb_codec_stolen;

/* Lists; read by hpcb_record_get_beside and _get_tasks (common/record_parts.h). */
extern const hpcb_codec_t hpcb_codec_guests;
extern const hpcb_codec_t hpcb_codec_guest_cpu;
extern const hpcb_codec_t hpcb_codec_tasks;

#endif
