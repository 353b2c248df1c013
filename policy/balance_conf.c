/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/balance.h"

#include <string.h>

/* Priorities that a task may have: 0 is off, 7 is alone on the core (table 2.2). */
#define PRIORITY_LEAST 1
#define PRIORITY_MOST  6

static const struct {
    const char *name;
    hpcb_balance_kind_t kind;
} kinds[] = {
    {"none", HPCB_BALANCE_NONE},       {"static", HPCB_BALANCE_STATIC},
    {"uniform", HPCB_BALANCE_UNIFORM}, {"adaptive", HPCB_BALANCE_ADAPTIVE},
    {"dlrb", HPCB_BALANCE_DLRB},       {"auto", HPCB_BALANCE_AUTO},
};

static const struct {
    const char *name;
    size_t offset;
    unsigned least, most;
} names[] = {
    {"high", offsetof(hpcb_balance_conf_t, high_util), 0, 100},
    {"low", offsetof(hpcb_balance_conf_t, low_util), 0, 100},
    {"global", offsetof(hpcb_balance_conf_t, global), 0, 100},
    {"busy", offsetof(hpcb_balance_conf_t, busy), 1, 99},
    {"threshold", offsetof(hpcb_balance_conf_t, threshold), 1, 100},
    {"move", offsetof(hpcb_balance_conf_t, move_gain), 0, 1000},
    {"min", offsetof(hpcb_balance_conf_t, priority_min), PRIORITY_LEAST, PRIORITY_MOST},
    {"max", offsetof(hpcb_balance_conf_t, priority_max), PRIORITY_LEAST, PRIORITY_MOST},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Sections 4.3.2 and 5.2; move_gain is ours. */
hpcb_balance_conf_t hpcb_balance_conf(hpcb_balance_kind_t kind)
{
    return (hpcb_balance_conf_t){
        .kind = kind,
        .high_util = 85,
        .low_util = 65,
        .global = 10,
        .busy = 95,
        .threshold = 20,
        .move_gain = 10,
        .priority_min = 4,
        .priority_max = 6,
        .linear = true,
    };
}

bool hpcb_balance_places_ranks(const hpcb_balance_conf_t *conf)
{
    return conf->kind == HPCB_BALANCE_DLRB || conf->kind == HPCB_BALANCE_AUTO;
}

/* Parse the integer at *text, and advance *text. */
static int number(const char **text, unsigned least, unsigned most, unsigned *value)
{
    const char *at = *text;
    unsigned sum = 0;

    if (*at < '0' || *at > '9')
        return -1;
    for (; *at >= '0' && *at <= '9'; at++) {
        sum = sum * 10 + (unsigned)(*at - '0');
        if (sum > most)
            return -1;
    }
    if (sum < least)
        return -1;
    *text = at;
    *value = sum;
    return 0;
}

static int parameter(const char **text, hpcb_balance_conf_t *conf)
{
    size_t length = strcspn(*text, "=,");
    const char *value = *text + length + 1;

    if ((*text)[length] != '=')
        return -1;
    for (size_t i = 0; i < COUNT(names); i++) {
        if (strlen(names[i].name) != length ||
            strncmp(*text, names[i].name, length) != 0)
            continue;
        if (number(&value, names[i].least, names[i].most,
                   (unsigned *)((char *)conf + names[i].offset)))
            return -1;
        *text = value;
        return 0;
    }
    return -1;
}

static int fixed(const char **text, hpcb_balance_conf_t *conf)
{
    unsigned value;

    if (conf->n_fixed == HPCB_BALANCE_RANKS ||
        number(text, PRIORITY_LEAST, PRIORITY_MOST, &value))
        return -1;
    conf->fixed[conf->n_fixed++] = (unsigned char)value;
    return 0;
}

/* The list behind the colon, up to the end of text. */
static int list(const char **text, hpcb_balance_conf_t *conf)
{
    for (;;) {
        if (conf->kind == HPCB_BALANCE_STATIC ? fixed(text, conf)
                                              : parameter(text, conf))
            return -1;
        if (**text == '\0')
            return 0;
        if (**text != ',')
            return -1;
        (*text)++;
    }
}

static int kind_of(const char **text, hpcb_balance_kind_t *kind)
{
    size_t length = strcspn(*text, ":");

    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (strlen(kinds[i].name) == length &&
            strncmp(*text, kinds[i].name, length) == 0) {
            *kind = kinds[i].kind;
            *text += length;
            return 0;
        }
    }
    return -1;
}

int hpcb_balance_conf_parse(const char *text, hpcb_balance_conf_t *conf,
                            const char **bad)
{
    hpcb_balance_conf_t read;
    hpcb_balance_kind_t kind;

    *bad = text;
    if (kind_of(bad, &kind))
        return -1;
    read = hpcb_balance_conf(kind);
    if (**bad == ':') {
        (*bad)++;
        if (list(bad, &read))
            return -1;
    } else if (kind == HPCB_BALANCE_STATIC) {
        return -1;
    }
    if (read.low_util > read.high_util || read.priority_min > read.priority_max) {
        *bad = text;
        return -1;
    }
    *conf = read;
    return 0;
}
