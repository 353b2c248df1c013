/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "sim/history.h"
#include "sim/random.h"

#define ROOM_FIRST    1024
#define STREAM_ASSUME UINT64_C(0xa55)

const char *hpcb_sim_reason_name(hpcb_sim_reason_t reason)
{
    static const char *const names[] = {
        "cut", "no_number", "negative", "did_not_run", "not_ended", "too_large",
    };

    return names[reason];
}

int hpcb_sim_history_add(hpcb_sim_history_t *history, const hpcb_sim_past_t *job,
                         hpcb_error_t *err)
{
    if (history->n == history->room) {
        size_t room = history->room > 0 ? 2 * history->room : ROOM_FIRST;
        hpcb_sim_past_t *more;

        if (history->n >= HPCB_SIM_JOBS_MAX)
            return hpcb_error(err, "more than %d jobs", HPCB_SIM_JOBS_MAX);
        more = reallocarray(history->job, room, sizeof(*more));
        if (!more)
            return hpcb_error(err, "%s", strerror(errno));
        history->job = more;
        history->room = room;
    }
    if (history->n > 0 && job->submit < history->job[history->n - 1].submit)
        history->unsorted++;
    history->job[history->n++] = *job;
    return 0;
}

void hpcb_sim_pass_over(hpcb_sim_history_t *history, hpcb_sim_reason_t reason,
                        const char *text)
{
    if (history->passed_over[reason]++ > 0)
        return;
    history->first_line[reason] = history->lines;
    snprintf(history->first_text[reason], sizeof(history->first_text[reason]), "%s",
             text);
}

/* Merge the sorted halves [from, middle) and [middle, to) by way of spare. */
static void merge(hpcb_sim_past_t *job, hpcb_sim_past_t *spare, size_t from,
                  size_t middle, size_t to)
{
    size_t a = from, b = middle;

    if (job[middle - 1].submit <= job[middle].submit)
        return;
    for (size_t i = from; i < to; i++)
        spare[i] = b == to || (a < middle && job[a].submit <= job[b].submit) ? job[a++]
                                                                             : job[b++];
    memcpy(&job[from], &spare[from], (to - from) * sizeof(*job));
}

/* qsort(3) need not keep the order of equals, and differs between C libraries. */
int hpcb_sim_history_sort(hpcb_sim_history_t *history, hpcb_error_t *err)
{
    hpcb_sim_past_t *spare;

    if (history->unsorted == 0)
        return 0;
    spare = calloc(history->n, sizeof(*spare));
    if (!spare)
        return hpcb_error(err, "%s", strerror(errno));
    for (size_t half = 1; half < history->n; half *= 2)
        for (size_t from = 0; from + half < history->n; from += 2 * half)
            merge(history->job, spare, from, from + half,
                  from + 2 * half < history->n ? from + 2 * half : history->n);
    free(spare);
    return 0;
}

static void assume(hpcb_sim_past_t *job, hpcb_sim_stream_t chance,
                   int64_t memory_per_cpu, hpcb_sim_assumed_t *assumed)
{
    static const float loads[] = {0.99F, 0.99F, 0.59F, 0.65F, 0.55F, 1.0F};
    int64_t most = memory_per_cpu * job->cpus;
    uint64_t load = hpcb_sim_below(&chance, sizeof(loads) / sizeof(loads[0]));
    int64_t asked = most / 100 * (50 + (int64_t)hpcb_sim_below(&chance, 51));
    int64_t used = 20 + (int64_t)hpcb_sim_below(&chance, 61);

    if (job->load < 0) {
        job->load = loads[load];
        assumed->load++;
    }
    if (job->memory_asked < 0) {
        job->memory_asked = job->memory_used > asked ? job->memory_used : asked;
        assumed->memory_asked++;
    }
    if (job->memory_asked > most)
        job->memory_asked = most;
    if (job->memory_used < 0) {
        job->memory_used = job->memory_asked / 100 * used;
        assumed->memory_used++;
    }
    if (job->memory_used > most)
        job->memory_used = most;
    if (job->limit < 0) {
        job->limit = job->run;
        assumed->limit++;
    }
    if (job->limit < job->run)
        job->limit = job->run;
}

hpcb_sim_assumed_t hpcb_sim_history_assume(hpcb_sim_history_t *history, uint64_t seed,
                                           uint64_t cpus, int64_t memory_per_cpu)
{
    hpcb_sim_assumed_t assumed = {0};
    size_t kept = 0;

    for (size_t i = 0; i < history->n; i++) {
        hpcb_sim_past_t job = history->job[i];

        if (job.cpus > cpus) {
            history->passed_over[HPCB_SIM_TOO_LARGE]++;
            continue;
        }
        assume(&job, hpcb_sim_stream(seed, STREAM_ASSUME + i), memory_per_cpu,
               &assumed);
        history->job[kept++] = job;
    }
    history->n = kept;
    return assumed;
}

void hpcb_sim_history_free(hpcb_sim_history_t *history)
{
    free(history->job);
    *history = (hpcb_sim_history_t){0};
}
