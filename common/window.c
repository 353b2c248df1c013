/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/text.h"
#include "common/window.h"

#define MILLION UINT64_C(1000000)

const char hpcb_window_rule[] =
    "allowed: PERIOD:DUTY, PERIOD 1ms to 1h with its unit (us, ms, s), DUTY the "
    "favoured part between 0 and 1 (90% or 0.9) or as a time below PERIOD (450ms), "
    "e.g. 1s:90%";

static const struct unit {
    const char *name;
    uint64_t us;
} units[] = {{"s", MILLION}, {"ms", 1000}, {"us", 1}};

#define N_UNITS (sizeof(units) / sizeof(units[0]))

static int parse_duration(const char *text, uint64_t *us)
{
    hpcb_decimal_t decimal;
    const char *rest = hpcb_text_decimal(text, &decimal);

    for (size_t i = 0; rest && i < N_UNITS; i++)
        if (strcmp(rest, units[i].name) == 0)
            return hpcb_decimal_scale(&decimal, units[i].us, HPCB_WINDOW_PERIOD_MAX_US,
                                      us);
    return -1;
}

static int parse_favoured(const char *text, uint64_t period_us, uint64_t *favoured_us)
{
    hpcb_decimal_t decimal;
    const char *rest = hpcb_text_decimal(text, &decimal);
    uint64_t millionths;

    if (!rest)
        return -1;
    if (*rest && strcmp(rest, "%") != 0)
        return parse_duration(text, favoured_us);
    if (hpcb_decimal_scale(&decimal, *rest ? MILLION / 100 : MILLION, MILLION,
                           &millionths))
        return -1;
    /* At most 3.6e9 * 1e6. */
    *favoured_us = period_us * millionths / MILLION;
    return 0;
}

int hpcb_window_parse(const char *text, hpcb_window_spec_t *spec)
{
    const char *colon = strchr(text, ':');
    hpcb_window_spec_t read;
    char period[32];

    if (!colon || (size_t)(colon - text) >= sizeof(period))
        return -1;
    memcpy(period, text, (size_t)(colon - text));
    period[colon - text] = '\0';
    if (parse_duration(period, &read.period_us) ||
        read.period_us < HPCB_WINDOW_PERIOD_MIN_US ||
        parse_favoured(colon + 1, read.period_us, &read.favoured_us) ||
        read.favoured_us == 0 || read.favoured_us >= read.period_us)
        return -1;
    *spec = read;
    return 0;
}

static int print_duration(uint64_t us, char *buf, size_t size)
{
    size_t i = 0;

    while (us % units[i].us)
        i++;
    return snprintf(buf, size, "%" PRIu64 "%s", us / units[i].us, units[i].name);
}

const char *hpcb_window_print(const hpcb_window_spec_t *spec, char *buf, size_t size)
{
    char period[24], favoured[24];

    print_duration(spec->period_us, period, sizeof(period));
    print_duration(spec->favoured_us, favoured, sizeof(favoured));
    if (spec->period_us == 0)
        snprintf(buf, size, "none");
    else if (spec->favoured_us * 100 % spec->period_us == 0)
        snprintf(buf, size, "%s:%" PRIu64 "%%", period,
                 spec->favoured_us * 100 / spec->period_us);
    else
        snprintf(buf, size, "%s:%s", period, favoured);
    return buf;
}
