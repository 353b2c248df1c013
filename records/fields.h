/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The fields of records, in one table: the database's columns, what is taken from the
 * nodes' JSON, what is computed of it, and what is exported follow it.  A new field is
 * one line here; an older database gets its column when it is opened
 * (doc/records-database.md).
 */
#ifndef HPCB_RECORDS_FIELDS_H
#define HPCB_RECORDS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    HPCB_FIELD_TEXT,   /* printable ASCII */
    HPCB_FIELD_COUNT,  /* 0 to 2^63 - 1 */
    HPCB_FIELD_BOOL,   /* 0 or 1; false or true in JSON */
    HPCB_FIELD_NUMBER, /* 0 to 10^15 */
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
} hpcb_field_t;

extern const hpcb_field_t hpcb_fields[];
extern const size_t hpcb_n_fields;

/* "run" or "node". */
const char *hpcb_field_table_name(hpcb_field_table_t table);

/* "text", "count", … as the table field of the database has it. */
const char *hpcb_field_type_name(hpcb_field_type_t type);

/* The field of a member of a node's record, or NULL. */
const hpcb_field_t *hpcb_field_of_record(const char *name);

#endif
