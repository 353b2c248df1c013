/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "policy/harm.h"
#include "policy/student.h"
#include "policy/typical.h"

/* A third is trimmed at each end: as many of a dozen stops may be disturbed. */
#define TAIL(count) ((count) / 3)

/* A trimmed mean, the square of its standard error, and the degrees of freedom. */
typedef struct {
    double mean;
    double square;
    double freedom;
} trimmed_t;

void hpcb_typical_add(hpcb_typical_t *typical, double cost,
                      const double part[HPCB_TYPICAL_PARTS])
{
    size_t place = typical->count++;

    if (place >= HPCB_TYPICAL_STOPS)
        return;
    typical->cost[place] = cost;
    memcpy(&typical->part[place * HPCB_TYPICAL_PARTS], part,
           HPCB_TYPICAL_PARTS * sizeof *part);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* Trimmed values count as the last value that is not trimmed. */
static double winsorized_squares(double *values, size_t count, size_t tail)
{
    double mean, sum = 0;

    for (size_t i = 0; i < tail; i++) {
        values[i] = values[tail];
        values[count - 1 - i] = values[count - 1 - tail];
    }
    mean = mean_of(values, count);
    for (size_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sum;
}

/* Sorts and overwrites the values; count >= HPCB_HARM_COMPARISONS_MIN. */
static trimmed_t trim(double *values, size_t count)
{
    size_t tail = TAIL(count), kept = count - 2 * tail;
    trimmed_t trimmed = {.freedom = (double)(kept - 1)};

    qsort(values, count, sizeof *values, compare);
    trimmed.mean = mean_of(values + tail, kept);
    trimmed.square =
        winsorized_squares(values, count, tail) / (double)kept / (double)(kept - 1);
    return trimmed;
}

/* Welch's, of the difference. */
static double freedom_of(const trimmed_t *a, const trimmed_t *b)
{
    double sum = a->square + b->square;

    return sum * sum /
           (a->square * a->square / a->freedom + b->square * b->square / b->freedom);
}

bool hpcb_typical_least(const hpcb_typical_t *typical, double *least)
{
    double cost[HPCB_TYPICAL_STOPS], part[HPCB_TYPICAL_STOPS * HPCB_TYPICAL_PARTS];
    size_t count = typical->count;
    trimmed_t stops, parts;
    double difference, error;

    if (count < HPCB_HARM_COMPARISONS_MIN || count > HPCB_TYPICAL_STOPS)
        return false;
    memcpy(cost, typical->cost, count * sizeof *cost);
    memcpy(part, typical->part, count * HPCB_TYPICAL_PARTS * sizeof *part);
    stops = trim(cost, count);
    parts = trim(part, count * HPCB_TYPICAL_PARTS);
    difference = stops.mean - parts.mean;
    error = sqrt(stops.square + parts.square);
    if (error > 0)
        difference -= hpcb_student_t(freedom_of(&stops, &parts)) * error;
    *least = expm1(difference);
    return true;
}
