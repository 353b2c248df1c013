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

#define ROOM_FIRST 1024

const char *hpcb_sim_reason_name(hpcb_sim_reason_t reason)
{
    static const char *const names[] = {
        "cut",       "no_number", "negative", "did_not_run",
        "not_ended", "run_again", "outside",  "too_large",
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

void hpcb_sim_history_free(hpcb_sim_history_t *history)
{
    free(history->job);
    *history = (hpcb_sim_history_t){0};
}
