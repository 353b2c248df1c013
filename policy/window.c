/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/window.h"

bool hpcb_window_good(const hpcb_window_t *window)
{
    return window->period_ns >= HPCB_WINDOW_PERIOD_MIN_NS &&
           window->period_ns <= HPCB_WINDOW_PERIOD_MAX_NS && window->favoured_ns > 0 &&
           window->favoured_ns < window->period_ns;
}

/* 0 <= result < period, also before the epoch.  Each operand is reduced first: the
 * difference of two times need not fit. */
static int64_t offset_in_period(const hpcb_window_t *window, int64_t now_ns)
{
    int64_t offset = now_ns % window->period_ns - window->epoch_ns % window->period_ns;

    offset %= window->period_ns;
    return offset < 0 ? offset + window->period_ns : offset;
}

hpcb_window_phase_t hpcb_window_phase(const hpcb_window_t *window, int64_t now_ns)
{
    int64_t offset = offset_in_period(window, now_ns);
    bool favoured = offset < window->favoured_ns;
    int64_t left = (favoured ? window->favoured_ns : window->period_ns) - offset;

    return (hpcb_window_phase_t){
        .favoured = favoured,
        .edge_ns = now_ns > INT64_MAX - left ? INT64_MAX : now_ns + left,
    };
}

uint64_t hpcb_window_edges(const hpcb_window_t *window, int64_t from_ns, int64_t to_ns)
{
    uint64_t span, whole, rest;
    uint64_t edges = 0;
    int64_t at;

    if (to_ns <= from_ns)
        return 0;
    /* Each period has two switches; the rest of one has at most two. */
    span = (uint64_t)to_ns - (uint64_t)from_ns;
    whole = span / (uint64_t)window->period_ns;
    rest = span % (uint64_t)window->period_ns;
    at = to_ns - (int64_t)rest;
    while ((at = hpcb_window_phase(window, at).edge_ns) <= to_ns && at < INT64_MAX)
        edges++;
    return 2 * whole + edges;
}
