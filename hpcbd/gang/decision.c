/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/tell.h"
#include "hpcbd/gang/decision.h"

/* A line that is full stays so.  hpcbctl gang wraps it into an object. */
typedef struct {
    char text[HPCB_TELL_MAX - 16];
    size_t length;
} line_t;

static void __attribute__((format(printf, 2, 3)))
put(line_t *line, const char *fmt, ...)
{
    size_t left = sizeof(line->text) - line->length;
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(line->text + line->length, left, fmt, args);
    va_end(args);
    line->length += n >= 0 && (size_t)n < left ? (size_t)n : left;
}

static bool is_full(const line_t *line)
{
    return line->length >= sizeof(line->text);
}

static void put_job(line_t *line, const hpcb_gang_job_t *job, unsigned window, bool run)
{
    char cpus[1024];

    if (hpcb_cpus_list(&job->cpus, cpus, sizeof(cpus)) < 0) {
        line->length = sizeof(line->text);
        return;
    }
    put(line,
        "{\"job\":%" PRIu32 ",\"of_job\":%" PRIu32
        ",\"cpus\":\"%s\",\"paused\":%s,\"wide\":%s,\"cycle\":%u,\"slot\":%u,"
        "\"waited\":%" PRIu32 ",\"samples\":[",
        job->job_id, job->of_job, cpus, job->paused ? "true" : "false",
        job->wide ? "true" : "false", job->cycle, job->slot, job->waited);
    for (unsigned i = 0; i < job->n_samples && i < window && !is_full(line); i++)
        put(line, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", job->samples[i].cpu,
            job->samples[i].net);
    if (!is_full(line))
        put(line, "],\"elected\":%s}", run ? "true" : "false");
}

static void put_jobs(line_t *line, const hpcb_gang_t *gang, const bool *run)
{
    put(line, "[");
    for (size_t i = 0; i < gang->count && !is_full(line); i++) {
        if (i)
            put(line, ",");
        if (!is_full(line))
            put_job(line, gang->list[i], gang->window, run[i]);
    }
    if (!is_full(line))
        put(line, "]}");
}

void hpcbd_decisions_note(hpcbd_decisions_t *decisions, const char *name,
                          uint64_t quantum, const hpcb_gang_t *gang,
                          const hpcb_bw_t *capacity, const bool *run)
{
    line_t line = {.length = 0};
    char **to = &decisions->lines[decisions->next];
    size_t head;

    put(&line,
        "{\"gang\":\"%s\",\"quantum\":%" PRIu64 ",\"window\":%u,\"mem\":%" PRIu64
        ",\"net\":%" PRIu64 ",\"jobs\":",
        name, quantum, gang->window, capacity->mem, capacity->net);
    head = line.length;
    put_jobs(&line, gang, run);
    if (is_full(&line)) {
        line.length = head;
        put(&line, "null}");
    }
    free(*to);
    *to = strdup(line.text);
    decisions->next = (decisions->next + 1) % HPCBD_DECISIONS_MAX;
}

const char *hpcbd_decisions_get(const hpcbd_decisions_t *decisions, size_t i)
{
    size_t first = decisions->lines[decisions->next] ? decisions->next : 0;

    return i < HPCBD_DECISIONS_MAX ? decisions->lines[(first + i) % HPCBD_DECISIONS_MAX]
                                   : NULL;
}

void hpcbd_decisions_free(hpcbd_decisions_t *decisions)
{
    for (size_t i = 0; i < HPCBD_DECISIONS_MAX; i++) {
        free(decisions->lines[i]);
        decisions->lines[i] = NULL;
    }
    decisions->next = 0;
}
