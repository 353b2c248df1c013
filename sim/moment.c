/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/moment.h"

#define MOST 1e15

bool hpcb_sim_decimal(const char *text, double *value)
{
    char *end;
    double got;

    if (!*text || strspn(text, "+-.0123456789") != strlen(text))
        return false;
    got = strtod(text, &end);
    if (*end || got >= MOST || got <= -MOST)
        return false;
    *value = got;
    return true;
}

/* Days from 1970-01-01 in the Gregorian calendar. */
static int64_t days(int64_t year, int64_t month, int64_t day)
{
    int64_t era, in_era;

    year -= month <= 2;
    era = year / 400;
    in_era = year - era * 400;
    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 +
           (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1 - 719468;
}

/* The time of day, if there is one. */
static bool clock_time(const char *text, double *seconds)
{
    int hour = 0, minute = 0, second = 0, n = 0;

    *seconds = 0;
    if (!*text)
        return true;
    if (sscanf(text, "T%2d:%2d%n", &hour, &minute, &n) != 2)
        return false;
    text += n;
    n = 0;
    if (*text && (sscanf(text, ":%2d%n", &second, &n) != 1 || text[n]))
        return false;
    *seconds = hour * 3600 + minute * 60 + second;
    return hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 &&
           second <= 60;
}

bool hpcb_sim_moment(const char *text, double *seconds)
{
    int year, month, day, n = 0;
    double within;

    if (hpcb_sim_decimal(text, seconds))
        return true;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &n) != 3 || year < 1970 ||
        month < 1 || month > 12 || day < 1 || day > 31 ||
        !clock_time(text + n, &within))
        return false;
    *seconds = (double)days(year, month, day) * 86400 + within;
    return true;
}
