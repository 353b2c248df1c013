/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The fields of records, in one table.  What a node writes into its record and what is
 * read of it (common/record.c), the database's columns, what is computed of them and
 * what is exported (records/) follow this table.  A new field is one row here and what
 * the row names of hpcb_record_t; an older database gets its column when it is opened
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

/* How a column gets its value. */
typedef enum {
    HPCB_FIELD_KEY,      /* tells the row from all others; never changes */
    HPCB_FIELD_FIRST,    /* from the record: the first node that knows it */
    HPCB_FIELD_CLASS,    /* from the record: the first node that knows the class */
    HPCB_FIELD_RECORD,   /* from the record of this node */
    HPCB_FIELD_COMPUTED, /* sql */
} hpcb_field_source_t;

/* A member of the JSON that a node writes (common/record_codec.h). */
typedef struct {
    unsigned place; /* in the order of writing, from 1 */
    const struct hpcb_codec *codec;
    size_t offset, size; /* of what it is written from, in hpcb_record_t */
} hpcb_member_t;

typedef struct {
    hpcb_field_table_t table;
    const char *name; /* of the column, and of the JSON member */
    hpcb_field_type_t type;
    hpcb_field_source_t source;
    bool required; /* never NULL */
    const char *unit;
    const char *what; /* for people */

    /* COMPUTED, of a node: from the record's members, as :name.  Of a run: from run.*
     * and the rows n of its nodes. */
    const char *sql;
    hpcb_member_t member; /* no codec: nodes do not write it */
} hpcb_field_t;

extern const hpcb_field_t hpcb_fields[];
extern const size_t hpcb_n_fields;

/* "run" or "node". */
const char *hpcb_field_table_name(hpcb_field_table_t table);

/* "text", "count", … as the table field of the database has it. */
const char *hpcb_field_type_name(hpcb_field_type_t type);

/* The field of a member of a node's record, or NULL. */
const hpcb_field_t *hpcb_field_of_record(const char *name);

/* The field that a node writes at this place, or NULL after the last one. */
const hpcb_field_t *hpcb_field_of_place(unsigned place);

#endif
