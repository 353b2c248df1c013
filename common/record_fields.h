/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Table of all fields of records.  It determines the content of a node's record and how
 * it is read (common/record.c), the database's columns, the values computed from them,
 * and exports (records/).  A new field is one row here and the member of hpcb_record_t
 * that the row names; an older database gets its column when it is opened
 * (doc/records-database.md).
 */
#ifndef HPCB_COMMON_RECORD_FIELDS_H
#define HPCB_COMMON_RECORD_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    HPCB_FIELD_TEXT,   /* printable ASCII */
    HPCB_FIELD_COUNT,  /* 0 to 2^63 - 1 */
    HPCB_FIELD_BOOL,   /* 0 or 1; false or true in JSON */
    HPCB_FIELD_NUMBER, /* 0 to 10^15 */
    HPCB_FIELD_SIGNED, /* -10^15 to 10^15 */
    HPCB_FIELD_JSON,   /* an array or an object, as JSON text */
} hpcb_field_type_t;

typedef enum {
    HPCB_FIELD_RUN,  /* table run: a run of a job */
    HPCB_FIELD_NODE, /* table node: a run on a node */
} hpcb_field_table_t;

/* Origin of a column's value. */
typedef enum {
    HPCB_FIELD_KEY,      /* identifies the row; never changes */
    HPCB_FIELD_FIRST,    /* from the record of the first node that knows it */
    HPCB_FIELD_CLASS,    /* from the record of the first node that knows the class */
    HPCB_FIELD_RECORD,   /* from the record of this node */
    HPCB_FIELD_COMPUTED, /* sql */
} hpcb_field_source_t;

/* Member of the JSON that a node writes (common/record_codec.h). */
typedef struct {
    unsigned place; /* position in the order of writing, from 1 */
    const struct hpcb_codec *codec;
    size_t offset, size; /* of its source in hpcb_record_t */
} hpcb_member_t;

typedef struct {
    hpcb_field_table_t table;
    const char *name; /* of the column, and of the JSON member */
    hpcb_field_type_t type;
    hpcb_field_source_t source;
    bool required; /* never NULL */
    const char *unit;
    const char *what; /* description */

    /* COMPUTED, of a node: from the record's members, as :name.  Of a run: from run.*
     * and the rows n of its nodes. */
    const char *sql;
    hpcb_member_t member; /* no codec: nodes do not write it */
} hpcb_field_t;

extern const hpcb_field_t hpcb_fields[];
extern const size_t hpcb_n_fields;

/* Return "run" or "node". */
const char *hpcb_field_table_name(hpcb_field_table_t table);

/* Return "text", "count", …, the type in the database's table field. */
const char *hpcb_field_type_name(hpcb_field_type_t type);

/* Return the field of a member of a node's record, or NULL. */
const hpcb_field_t *hpcb_field_of_record(const char *name);

/* Return the field that a node writes at this position, or NULL after the last one. */
const hpcb_field_t *hpcb_field_of_place(unsigned place);

#endif
