/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "jobsubmit/spank_env.h"

/* Set by spank_option_register(): this prefix, then plugin, '_' and option. */
#define OPTION_PREFIX "_SLURM_SPANK_OPTION_hpc_balance_"

/* Slurm writes an option without argument this way. */
#define NO_ARGUMENT "(null)"

/* Bounds of env_array_merge (src/common/env.c, 22.05 ... 26.05). */
#define NAME_LENGTH_MAX 255
#define VALUE_BYTES     (256 * 1024)

/* Return true if the text up to end is name in Slurm's form: every character other than
 * letters and digits is '_'. */
static bool is_option(const char *text, const char *end, const char *name)
{
    for (; *name; name++, text++) {
        char c = isalnum((unsigned char)*name) ? *name : '_';

        if (text == end || *text != c)
            return false;
    }
    return text == end;
}

static const char *option_name(const char *text, const char *end)
{
    size_t count;
    const hpcb_option_spec_t *specs = hpcb_option_specs(&count);

    for (size_t i = 0; i < count; i++)
        if (is_option(text, end, specs[i].name))
            return specs[i].name;
    return NULL;
}

static int parse_entry(const char *entry, hpcb_options_t *options, hpcb_error_t *err)
{
    const char *text = entry + strlen(OPTION_PREFIX);
    const char *end = strchrnul(text, '=');
    const char *name = option_name(text, end);
    const char *value = *end ? end + 1 : NULL;

    if (!name)
        return hpcb_error(err,
                          "option '%.*s' of hpc-balance is not known on this cluster: "
                          "remove it",
                          (int)(end - text < 64 ? end - text : 64), text);
    if (value && strcmp(value, NO_ARGUMENT) == 0)
        value = NULL;
    return hpcb_option_parse(name, value, options, err);
}

int hpcb_spank_env_options(char *const *env, size_t count, hpcb_options_t *options,
                           hpcb_error_t *err)
{
    hpcb_options_t parsed = {.guest = false};

    for (size_t i = 0; i < count; i++) {
        if (!env[i] || strncmp(env[i], OPTION_PREFIX, strlen(OPTION_PREFIX)) != 0)
            continue;
        if (parse_entry(env[i], &parsed, err))
            return -1;
    }
    *options = parsed;
    return 0;
}

static const char *const ours[] = {HPCB_SPANK_ENV_CLASS, HPCB_SPANK_ENV_PROGRAM,
                                   HPCB_SPANK_ENV_SUBMIT, HPCB_SPANK_ENV_SPREAD};

/* slurmd puts SPANK_ before each name that has it not, so both forms of ours reach
 * the prolog as SPANK_HPCB_CLASS and so on. */
static bool is_ours(const char *name, size_t length)
{
    static const char prefix[] = "SPANK_";
    size_t skipped = sizeof(prefix) - 1;

    if (length > skipped && memcmp(name, prefix, skipped) == 0) {
        name += skipped;
        length -= skipped;
    }
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (length == strlen(ours[i]) && memcmp(name, ours[i], length) == 0)
            return true;
    return false;
}

static bool may_stay(const char *entry)
{
    const char *equals = entry ? strchr(entry, '=') : NULL;
    size_t length = equals ? (size_t)(equals - entry) : 0;

    return length > 0 && length <= NAME_LENGTH_MAX &&
           strlen(equals + 1) < VALUE_BYTES && !is_ours(entry, length);
}

typedef struct {
    const char *entry;
    size_t index;
} item_t;

/* By name, then by position. */
static int compare(const void *a, const void *b)
{
    const item_t *left = a, *right = b;
    size_t n = strcspn(left->entry, "="), m = strcspn(right->entry, "=");
    int order = memcmp(left->entry, right->entry, n < m ? n : m);

    if (order == 0)
        order = (n > m) - (n < m);
    if (order == 0)
        order = (left->index > right->index) - (left->index < right->index);
    return order;
}

static bool same_name(const item_t *a, const item_t *b)
{
    size_t length = strcspn(a->entry, "=") + 1;

    return strncmp(a->entry, b->entry, length) == 0;
}

long hpcb_spank_env_sift(char *const *env, size_t count, bool *keep, hpcb_error_t *err)
{
    hpcb_autofree item_t *items = NULL;
    size_t n = 0;
    long kept = 0;

    if (count > HPCB_SPANK_ENV_MAX)
        return hpcb_error(err,
                          "the job brings %zu SPANK variables: at most %d are allowed",
                          count, HPCB_SPANK_ENV_MAX);
    items = malloc((count + 1) * sizeof(*items));
    if (!items)
        return hpcb_error(err, "out of memory");
    for (size_t i = 0; i < count; i++) {
        keep[i] = false;
        if (may_stay(env[i]))
            items[n++] = (item_t){.entry = env[i], .index = i};
    }
    qsort(items, n, sizeof(*items), compare);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !same_name(&items[i], &items[i + 1])) {
            keep[items[i].index] = true;
            kept++;
        }
    return kept;
}
