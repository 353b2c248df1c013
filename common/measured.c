/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "common/file.h"
#include "common/measured.h"
#include "common/text.h"

#define MEASURE_LINE (HPCB_MEASURED_WHY_MAX + 64)
#define FILE_MODE    0600

void hpcb_measure_unknown(hpcb_measure_t *measure, const char *why)
{
    hpcb_error_t clean;

    hpcb_error(&clean, "%s", why); /* one printable line */
    *measure = (hpcb_measure_t){.known = false};
    snprintf(measure->why, sizeof(measure->why), "%.*s", HPCB_MEASURED_WHY_MAX - 1,
             clean.text);
}

const hpcb_guest_cost_t hpcb_guest_cost_unknown = {HPCB_COST_UNKNOWN, HPCB_COST_UNKNOWN,
                                                   HPCB_COST_UNKNOWN, "", 0};

const hpcb_restraint_t hpcb_restraint_unknown = {
    HPCB_RESTRAINT_UNKNOWN, HPCB_RESTRAINT_UNKNOWN, HPCB_RESTRAINT_UNKNOWN,
    HPCB_RESTRAINT_UNKNOWN, HPCB_RESTRAINT_UNKNOWN, HPCB_RESTRAINT_UNKNOWN};

static int path_of(const char *state_dir, uint32_t job_id, char *path, size_t size)
{
    int n = snprintf(path, size, "%s/jobs/%" PRIu32 ".measured", state_dir, job_id);

    return n > 0 && (size_t)n < size ? 0 : -1;
}

static int line(const char *name, const hpcb_measure_t *measure, char *text,
                size_t size)
{
    if (measure->known)
        return snprintf(text, size, "%s %" PRIu64 " %" PRIu64 "\n", name,
                        measure->bytes, measure->p95);
    return snprintf(text, size, "%s - %s\n", name, measure->why);
}

/* A line each of a primary and of a guest. */
static int restraint_lines(const hpcb_restraint_t *restraint, char *text, size_t size)
{
    int n = 0;

    text[0] = '\0';
    if (restraint->steps != HPCB_RESTRAINT_UNKNOWN)
        n += snprintf(text, size, "guarded %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                      restraint->steps, restraint->requeued, restraint->sliced_us);
    if (restraint->throttled_us != HPCB_RESTRAINT_UNKNOWN)
        n += snprintf(text + n, size - (size_t)n,
                      "restrained %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                      restraint->throttled_us, restraint->stopped_us,
                      restraint->starved_us);
    return n;
}

int hpcb_measured_save(const char *state_dir, uint32_t job_id,
                       const hpcb_measured_t *measured, hpcb_error_t *err)
{
    const hpcb_guest_cost_t *cost = &measured->guest_cost;
    char path[PATH_MAX], text[4 * MEASURE_LINE];
    int n = line("network", &measured->network, text, sizeof(text));

    n += line("memory", &measured->memory, text + n, sizeof(text) - (size_t)n);
    if (cost->cost != HPCB_COST_UNKNOWN)
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      "guest_cost %" PRId64 " %" PRId64 " %" PRId64 " %s %" PRIu64 "\n",
                      cost->cost, cost->low, cost->high, cost->method, cost->of_us);
    if (measured->elected_us != HPCB_ELECTED_UNKNOWN)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "elected_us %" PRIu64 "\n",
                      measured->elected_us);
    n += restraint_lines(&measured->restraint, text + n, sizeof(text) - (size_t)n);
    if (path_of(state_dir, job_id, path, sizeof(path)) < 0)
        return hpcb_error(err, "%.200s is too long", state_dir);
    return hpcb_file_swap(path, text, (size_t)n, FILE_MODE, err);
}

/* "BYTES P95" or "- WHY". */
static void parse(char *text, hpcb_measure_t *measure)
{
    char *second = strchr(text, ' ');
    uint64_t bytes, p95;

    if (!second)
        return;
    *second++ = '\0';
    if (strcmp(text, "-") == 0)
        hpcb_measure_unknown(measure, second);
    else if (hpcb_text_u64(text, UINT64_MAX, &bytes) == 0 &&
             hpcb_text_u64(second, UINT64_MAX, &p95) == 0)
        *measure = (hpcb_measure_t){.known = true, .bytes = bytes, .p95 = p95};
}

/* "COST LOW HIGH METHOD OF_US"; the last one is new. */
static void parse_cost(const char *text, hpcb_guest_cost_t *cost)
{
    hpcb_guest_cost_t read = hpcb_guest_cost_unknown;

    if (sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %15[a-z_] %" SCNu64,
               &read.cost, &read.low, &read.high, read.method, &read.of_us) >= 4)
        *cost = read;
}

/* Three numbers. */
static void parse_three(const char *text, uint64_t *first, uint64_t *second,
                        uint64_t *third)
{
    uint64_t read[3];

    if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &read[0], &read[1],
               &read[2]) != 3)
        return;
    *first = read[0];
    *second = read[1];
    *third = read[2];
}

static void parse_restraint(const char *line, hpcb_restraint_t *restraint)
{
    if (strncmp(line, "guarded ", 8) == 0)
        parse_three(line + 8, &restraint->steps, &restraint->requeued,
                    &restraint->sliced_us);
    else if (strncmp(line, "restrained ", 11) == 0)
        parse_three(line + 11, &restraint->throttled_us, &restraint->stopped_us,
                    &restraint->starved_us);
}

void hpcb_measured_load(const char *state_dir, uint32_t job_id,
                        hpcb_measured_t *measured)
{
    char path[PATH_MAX], text[4 * MEASURE_LINE], *next = text, *one;

    hpcb_measure_unknown(&measured->network, "no hpcbd has measured the job");
    measured->memory = measured->network;
    measured->guest_cost = hpcb_guest_cost_unknown;
    measured->elected_us = HPCB_ELECTED_UNKNOWN;
    measured->restraint = hpcb_restraint_unknown;
    if (path_of(state_dir, job_id, path, sizeof(path)) < 0 ||
        hpcb_file_read_trusted(path, text, sizeof(text), NULL) < 0)
        return;
    while ((one = strsep(&next, "\n"))) {
        if (strncmp(one, "network ", 8) == 0)
            parse(one + 8, &measured->network);
        else if (strncmp(one, "memory ", 7) == 0)
            parse(one + 7, &measured->memory);
        else if (strncmp(one, "guest_cost ", 11) == 0)
            parse_cost(one + 11, &measured->guest_cost);
        else if (strncmp(one, "elected_us ", 11) == 0)
            (void)hpcb_text_u64(one + 11, UINT64_MAX, &measured->elected_us);
        else
            parse_restraint(one, &measured->restraint);
    }
}
