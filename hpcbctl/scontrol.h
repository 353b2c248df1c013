/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Output of `scontrol show ...` as pairs of key and value.  Pure.  Keys are
 * case-insensitive, as in Slurm.
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
    char *text; /* owns the text of the pairs */
    hpcb_pair_t *pairs;
    size_t count;
} hpcb_table_t;

/*
 * Parse `show config`: "Key = value" lines; headings and other lines are skipped.  The
 * index of a key ("Prolog[0]", several lines since Slurm 23.11) is dropped.  Return 0,
 * or -1 if memory is short.  Free with hpcb_table_free in either case.
 */
int hpcb_table_parse_config(const char *text, hpcb_table_t *table);

/* Parse one line of `-o show partition|node|job`: Key=Value separated by blanks; a word
 * without '=' belongs to the preceding value.  Only the first line is read. */
int hpcb_table_parse_line(const char *line, hpcb_table_t *table);

void hpcb_table_free(hpcb_table_t *table);

/* Return the value, "" for "(null)" and "N/A"; NULL if there is no such key. */
const char *hpcb_table_get(const hpcb_table_t *table, const char *key);

/* Do what hpcb_table_get does, but return "" if there is no such key. */
const char *hpcb_table_text(const hpcb_table_t *table, const char *key);

/* Return the number at the start of the value (scontrol adds units); fallback if there
 * is none. */
uint64_t hpcb_table_number(const hpcb_table_t *table, const char *key,
                           uint64_t fallback);

/* Return true if word is one of the comma-separated words of list, case-insensitive. */
bool hpcb_list_has(const char *list, const char *word);

/* Get the text after "key=" in a list of comma-separated words (SchedulerParameters),
 * up to the next comma.  Return false if there is none or it does not fit. */
bool hpcb_list_value(const char *list, const char *key, char *value, size_t size);

#endif
