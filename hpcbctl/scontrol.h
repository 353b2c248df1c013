/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What `scontrol show ...` prints, as pairs of key and value.  Pure: text in, pairs
 * out; keys are compared without regard to case, as Slurm does.
 */
#ifndef HPCB_HPCBCTL_SCONTROL_H
#define HPCB_HPCBCTL_SCONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *key;
    char *value;
} hpcb_pair_t;

typedef struct {
    char *text; /* what the pairs point into */
    hpcb_pair_t *pairs;
    size_t count;
} hpcb_table_t;

/*
 * `show config`: "Key   = value" lines; headings and other lines are passed over.  A
 * key with an index ("Prolog[0]", several lines since Slurm 23.11) loses it.
 * 0, or -1 when memory runs out.  hpcb_table_free releases it in either case.
 */
int hpcb_table_parse_config(const char *text, hpcb_table_t *table);

/* One line of `-o show partition|node|job`: Key=Value with blanks between; a word
 * without '=' belongs to the value before it.  Only the first line is read. */
int hpcb_table_parse_line(const char *line, hpcb_table_t *table);

void hpcb_table_free(hpcb_table_t *table);

/* The value, "" for "(null)" and "N/A"; NULL where there is no such key. */
const char *hpcb_table_get(const hpcb_table_t *table, const char *key);

/* As hpcb_table_get, "" where there is no such key. */
const char *hpcb_table_text(const hpcb_table_t *table, const char *key);

/* The number at the start of the value (scontrol adds units); fallback where there is
 * none. */
uint64_t hpcb_table_number(const hpcb_table_t *table, const char *key,
                           uint64_t fallback);

/* True where word is one of the words of list, separated by commas, without regard to
 * case. */
bool hpcb_list_has(const char *list, const char *word);

/* What follows "key=" in a list of words separated by commas (SchedulerParameters), up
 * to the next comma.  False where there is none or it does not fit. */
bool hpcb_list_value(const char *list, const char *key, char *value, size_t size);

#endif
