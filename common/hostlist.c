/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/hostlist.h"

#define NAME_BYTES   256
#define BRACKETS_MAX 4 /* r[1-2]n[1-4]...: each one is a level of recursion */

typedef struct {
    int (*visit)(const char *host, void *arg);
    void *arg;
    int visited;
    bool ended; /* visit said so */
} walk_t;

/* Parse digits at *text, at most 9; advances *text.  Return -1 if there are none. */
static int scan_number(const char **text, unsigned *value, int *width)
{
    int digits = (int)strspn(*text, "0123456789");

    if (digits == 0 || digits > 9)
        return -1;
    *value = (unsigned)strtoul(*text, NULL, 10);
    *width = digits;
    *text += digits;
    return 0;
}

static int emit(walk_t *walk, const char *name)
{
    if (walk->visited == HPCB_HOSTS_MAX)
        return -1;
    walk->visited++;
    walk->ended = walk->visit(name, walk->arg) != 0;
    return 0;
}

static int expand(walk_t *walk, const char *prefix, const char *text, size_t length,
                  int depth);

/* prefix + number + what follows the bracket, for each number of one range. */
static int expand_range(walk_t *walk, const char *prefix, const char **range,
                        const char *rest, size_t length, int depth)
{
    unsigned first, last;
    int width, unused;

    if (scan_number(range, &first, &width))
        return -1;
    last = first;
    if (**range == '-' && ((*range)++, scan_number(range, &last, &unused)))
        return -1;
    for (unsigned i = first; i <= last && !walk->ended; i++) {
        char name[NAME_BYTES];

        if (snprintf(name, sizeof(name), "%s%0*u", prefix, width, i) >=
                (int)sizeof(name) ||
            expand(walk, name, rest, length, depth + 1))
            return -1;
    }
    return last < first ? -1 : 0;
}

/* One item of the list: the length bytes at text, behind prefix. */
static int expand(walk_t *walk, const char *prefix, const char *text, size_t length,
                  int depth)
{
    const char *open = memchr(text, '[', length);
    const char *close = open ? memchr(open, ']', length - (size_t)(open - text)) : NULL;
    size_t plain = open ? (size_t)(open - text) : length;
    char name[NAME_BYTES];

    if (memchr(text, ']', plain) || snprintf(name, sizeof(name), "%s%.*s", prefix,
                                             (int)plain, text) >= (int)sizeof(name))
        return -1;
    if (!open)
        return *name ? emit(walk, name) : -1;
    if (!close || depth == BRACKETS_MAX)
        return -1;
    do {
        open++;
        if (expand_range(walk, name, &open, close + 1,
                         length - (size_t)(close + 1 - text), depth))
            return -1;
    } while (*open == ',' && !walk->ended);
    return open == close || walk->ended ? 0 : -1;
}

/* The length of the item at text: up to a comma outside of brackets. */
static size_t item_length(const char *text)
{
    size_t i = 0;

    for (bool inside = false; text[i] && (inside || text[i] != ','); i++) {
        if (text[i] == '[')
            inside = true;
        else if (text[i] == ']')
            inside = false;
    }
    return i;
}

int hpcb_hostlist_each(const char *list, int (*visit)(const char *host, void *arg),
                       void *arg)
{
    walk_t walk = {.visit = visit, .arg = arg};

    while (*list && !walk.ended) {
        size_t length = item_length(list);

        if (expand(&walk, "", list, length, 0))
            return -1;
        list += length + (list[length] == ',');
    }
    return walk.visited;
}

typedef struct {
    const char *host;
    bool found;
} search_t;

static int is_it(const char *host, void *arg)
{
    search_t *search = arg;

    search->found = strcmp(host, search->host) == 0;
    return search->found;
}

int hpcb_hostlist_index(const char *list, const char *host)
{
    search_t search = {.host = host};
    int visited = hpcb_hostlist_each(list, is_it, &search);

    return search.found ? visited - 1 : -1;
}

typedef struct {
    char **names;
    size_t count;
} names_t;

static int keep_name(const char *host, void *arg)
{
    names_t *names = arg;

    names->names[names->count] = strdup(host);
    return names->names[names->count] ? (names->count++, 0) : 1;
}

static int order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(names_t *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
}

static int read_names(const char *list, names_t *names)
{
    int visited;

    *names = (names_t){.names = calloc(HPCB_HOSTS_MAX, sizeof(char *))};
    if (!names->names)
        return -1;
    visited = hpcb_hostlist_each(list, keep_name, names);
    if (visited < 0 || (size_t)visited != names->count)
        return -1;
    qsort(names->names, names->count, sizeof(char *), order);
    return 0;
}

static size_t count_common(const names_t *a, const names_t *b)
{
    size_t i = 0, j = 0, common = 0;

    while (i < a->count && j < b->count) {
        int c = strcmp(a->names[i], b->names[j]);

        common += c == 0;
        i += c <= 0;
        j += c >= 0;
    }
    return common;
}

hpcb_overlap_t hpcb_hostlist_compare(const char *a, const char *b)
{
    hpcb_overlap_t overlap = HPCB_HOSTS_OVERLAP;
    names_t x = {0}, y = {0};

    if (strcmp(a, b) == 0)
        return HPCB_HOSTS_SAME;
    if (read_names(a, &x) == 0 && read_names(b, &y) == 0) {
        size_t common = count_common(&x, &y);

        if (common == 0)
            overlap = HPCB_HOSTS_APART;
        else if (common == x.count && common == y.count)
            overlap = HPCB_HOSTS_SAME;
    }
    free_names(&x);
    free_names(&y);
    return overlap;
}

unsigned hpcb_count_of_node(const char *text, unsigned index)
{
    while (*text) {
        unsigned count, nodes = 1;
        int unused;

        if (scan_number(&text, &count, &unused))
            return 0;
        if (strncmp(text, "(x", 2) == 0) {
            text += 2;
            if (scan_number(&text, &nodes, &unused) || *text != ')')
                return 0;
            text++;
        }
        if (index < nodes)
            return count;
        index -= nodes;
        if (*text != ',')
            return 0;
        text++;
    }
    return 0;
}
