/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/periodicity.h"

#include <string.h>

/* Symbols or runs that are handled at once: vectors of the compiler's, which every
 * 64-bit processor has instructions for, or which become plain code. */
#define LANES 8
typedef int16_t lanes_t __attribute__((vector_size(LANES * sizeof(int16_t))));

/* Longer runs say nothing more, and must not overflow. */
#define CAP HPCB_PERIOD_WINDOW

_Static_assert(HPCB_PERIOD_MAX % LANES == 0, "whole vectors");
_Static_assert(sizeof(lanes_t) == 2 * sizeof(uint64_t), "any_of");

/* Runs that make each m a period: m, at least 2. */
static int16_t needed(unsigned m)
{
    return (int16_t)(m > 2 ? m : 2);
}

/* No event has the symbol 0, so nothing equals what was before the stream. */
void hpcb_period_reset(hpcb_period_t *period)
{
    memset(period, 0, sizeof(*period));
    period->latest = HPCB_PERIOD_SLACK;
}

static void push(hpcb_period_t *period, uint16_t symbol)
{
    if (period->latest == 0) {
        memmove(period->history + HPCB_PERIOD_SLACK, period->history,
                HPCB_PERIOD_WINDOW * sizeof(period->history[0]));
        period->latest = HPCB_PERIOD_SLACK;
    }
    period->history[--period->latest] = symbol;
}

static bool any_of(lanes_t lanes)
{
    uint64_t words[sizeof(lanes) / sizeof(uint64_t)];

    memcpy(words, &lanes, sizeof(words));
    return (words[0] | words[1]) != 0;
}

/* Before symbol is pushed.  Whether some run is as long as is needed. */
static bool count_runs(hpcb_period_t *period, uint16_t symbol)
{
    const uint16_t *before = period->history + period->latest;
    lanes_t wanted = (lanes_t){0} + (int16_t)symbol;
    lanes_t distance = {1, 2, 3, 4, 5, 6, 7, 8}, need = distance, enough = {0};
    lanes_t symbols, run;

    need[0] = 2;
    for (unsigned m = 0; m < HPCB_PERIOD_MAX; m += LANES) {
        memcpy(&symbols, before + m, sizeof(symbols));
        memcpy(&run, period->run + m, sizeof(run));
        /* A true comparison yields -1, all bits set. */
        run = (run - (lanes_t)(run < CAP)) & (lanes_t)(symbols == wanted);
        enough |= (lanes_t)(run >= need);
        memcpy(period->run + m, &run, sizeof(run));
        distance += LANES;
        need = distance;
    }
    return any_of(enough);
}

/* r(m) anew, after events that were not counted. */
static int16_t run_of(const hpcb_period_t *period, unsigned m)
{
    const uint16_t *latest = period->history + period->latest;
    unsigned run = 0;

    /* Beyond needed(m) it makes no difference. */
    while (run < (unsigned)needed(m) && latest[run] == latest[run + m])
        run++;
    return (int16_t)run;
}

static unsigned find(const hpcb_period_t *period)
{
    for (unsigned m = 1; m <= HPCB_PERIOD_MAX; m++)
        if (period->run[m - 1] >= needed(m))
            return m;
    return 0;
}

static hpcb_period_place_t begin_period(hpcb_period_t *period, unsigned found)
{
    period->period = found;
    period->left = found;
    period->held = 0;
    /* The events that completed the period were an iteration. */
    return found > 0 ? HPCB_PERIOD_END : HPCB_PERIOD_NONE;
}

static hpcb_period_place_t go_on(hpcb_period_t *period)
{
    if (period->held < HPCB_PERIOD_WINDOW)
        period->held++;
    period->light = period->held == HPCB_PERIOD_WINDOW;
    if (--period->left > 0)
        return HPCB_PERIOD_INSIDE;
    period->left = period->period;
    return HPCB_PERIOD_END;
}

/* The period has held for long and ends, or the window must be moved. */
static hpcb_period_place_t leave_light(hpcb_period_t *period, uint16_t symbol)
{
    bool holds = period->history[period->latest + period->period - 1] == symbol;

    push(period, symbol);
    if (holds)
        return go_on(period);
    period->light = false;
    for (unsigned m = 1; m <= HPCB_PERIOD_MAX; m++)
        period->run[m - 1] = run_of(period, m);
    return begin_period(period, find(period));
}

hpcb_period_place_t hpcb_period_search(hpcb_period_t *period, uint16_t symbol)
{
    bool some;

    if (period->light)
        return leave_light(period, symbol);
    some = count_runs(period, symbol);
    push(period, symbol);
    if (period->period > 0 && period->run[period->period - 1] > 0)
        return go_on(period);
    return begin_period(period, some ? find(period) : 0);
}
