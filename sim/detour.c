/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "sim/detour.h"

#define SECOND INT64_C(1000000000)

bool hpcb_sim_noise_has_extra(const hpcb_sim_noise_t *noise)
{
    return noise->guard || noise->recording;
}

/* The pause before the next detour of the recording, whose length becomes *length. */
static int64_t play(const hpcb_sim_recording_t *recording, hpcb_sim_extra_t *extra,
                    int64_t *length)
{
    size_t i = extra->next, before = (i > 0 ? i : recording->n) - 1;
    const hpcb_sim_recorded_t *last = &recording->detour[before];
    int64_t pause = recording->detour[i].at_ns - (last->at_ns + last->length_ns);

    *length = recording->detour[i].length_ns;
    extra->next = i + 1 < recording->n ? i + 1 : 0;
    return i > 0 ? pause : pause + recording->tape_ns;
}

static void begin_recording(const hpcb_sim_recording_t *recording,
                            hpcb_sim_task_t *task, hpcb_sim_extra_t *extra)
{
    uint64_t tape = (uint64_t)recording->tape_ns;
    int64_t at = (int64_t)hpcb_sim_below(&task->chance, tape), until;
    size_t i = hpcb_sim_recording_find(recording, at);

    extra->next = i < recording->n ? i : 0;
    until = recording->detour[extra->next].at_ns - at;
    play(recording, extra, &task->left_ns);
    if (i == recording->n)
        until += recording->tape_ns;
    task->wake_ns = until > 0 ? until : 0;
    if (until < 0)
        task->left_ns += until;
}

void hpcb_sim_task_begin(const hpcb_sim_noise_t *noise, hpcb_sim_stream_t chance,
                         int64_t clock_ns, hpcb_sim_task_t *task,
                         hpcb_sim_extra_t *extra)
{
    int64_t pause, length, at;

    *task = (hpcb_sim_task_t){.chance = chance, .clock_ns = clock_ns};
    if (noise->recording) {
        begin_recording(noise->recording, task, extra);
        return;
    }
    pause = hpcb_sim_draw(&noise->pause, &task->chance);
    length = hpcb_sim_draw(&noise->length, &task->chance);
    at = (int64_t)hpcb_sim_below(&task->chance, (uint64_t)(pause + length) + 1);
    task->wake_ns = at < pause ? at : 0;
    task->left_ns = at < pause ? length : pause + length - at;
}

/* The first time from at on when the node is in a regular part, and when that ends. */
static int64_t regular(const hpcb_sim_noise_t *noise, hpcb_sim_task_t *task, int64_t at,
                       int64_t *end)
{
    hpcb_window_phase_t phase = hpcb_window_phase(noise->window, at + task->clock_ns);
    int64_t from = at;

    if (phase.favoured) {
        from = phase.edge_ns - task->clock_ns;
        phase = hpcb_window_phase(noise->window, phase.edge_ns);
    }
    *end =
        phase.edge_ns - task->clock_ns + hpcb_sim_draw(noise->edge_late, &task->chance);
    return from;
}

bool hpcb_sim_task_is_stopped(const hpcb_crumbs_conf_t *guard, hpcb_sim_extra_t *extra,
                              int64_t at, const int64_t *left_ns)
{
    for (; extra->second_ns + SECOND <= at; extra->second_ns += SECOND) {
        int64_t had = left_ns ? left_ns[extra->second_ns / SECOND] : extra->ran_ns;
        double share = (double)had / (double)SECOND;

        extra->ran_ns = 0;
        if (hpcb_crumbs_step(guard, &extra->crumbs, share, true,
                             (uint64_t)(extra->second_ns + SECOND)) != HPCB_CRUMBS_RUN)
            return true;
    }
    return false;
}

static hpcb_sim_detour_t never(void)
{
    return (hpcb_sim_detour_t){.from_ns = HPCB_SIM_NEVER, .to_ns = HPCB_SIM_NEVER + 1};
}

hpcb_sim_detour_t hpcb_sim_task_next(const hpcb_sim_noise_t *noise,
                                     hpcb_sim_task_t *task, hpcb_sim_extra_t *extra)
{
    int64_t from = task->wake_ns, end = INT64_MAX, run;

    while (task->left_ns == 0 && noise->recording)
        from += play(noise->recording, extra, &task->left_ns);
    while (task->left_ns == 0 && from < HPCB_SIM_NEVER) {
        from += hpcb_sim_draw(&noise->pause, &task->chance);
        task->left_ns = hpcb_sim_draw(&noise->length, &task->chance);
    }
    if (from >= HPCB_SIM_NEVER)
        return never();
    if (noise->window)
        from = regular(noise, task, from, &end);
    if (noise->guard && !noise->shares_waits &&
        hpcb_sim_task_is_stopped(noise->guard, extra, from, NULL))
        return never();
    run = task->left_ns;
    if (noise->slice_ns > 0 && run > noise->slice_ns)
        run = noise->slice_ns;
    if (run > end - from)
        run = end - from;
    task->left_ns -= run;
    if (noise->guard)
        extra->ran_ns += run;
    /* In boosted parts the job had its turn. */
    task->wake_ns = from + run;
    if (task->left_ns > 0 && from + run < end)
        task->wake_ns += noise->slice_ns;
    return (hpcb_sim_detour_t){.from_ns = from, .to_ns = from + run};
}
