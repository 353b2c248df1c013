/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The dynamic periodicity detector: in which distance a stream of events repeats itself
 * (Boneti's thesis, section 5.2.1, after Freitag, Corbalan and Labarta: a period is a
 * distance m at which the stream differs nowhere from itself).  Pure, streaming,
 * constant memory, no allocation; one detector a stream, not locked.
 *
 * What is found, exactly.  Be r(m) the number of the latest events in a row, each of
 * which equals the one m before it.
 *  - A period m, once found, holds while each new event equals the one m before it.
 *  - Otherwise the period is the smallest m, at most HPCB_PERIOD_MAX, with r(m) >= m
 *    and r(m) >= 2: the latest m events have happened twice in a row (single ones three
 *    times); 0 if there is none.
 * So an inner loop is found first; where it ends, the outer one is found as soon as it
 * has gone round twice, and then held for good.  The outer loop that does not fit into
 * the window leaves the inner one.
 *
 * An event costs HPCB_PERIOD_MAX comparisons, eight at a time, while the period is
 * unknown or young; one when it has held for the length of the window.
 */
#ifndef HPCB_POLICY_PERIODICITY_H
#define HPCB_POLICY_PERIODICITY_H

#include <stdbool.h>
#include <stdint.h>

#define HPCB_PERIOD_WINDOW 512
#define HPCB_PERIOD_MAX    (HPCB_PERIOD_WINDOW / 2)

/* The window is moved in memory once in this many events. */
#define HPCB_PERIOD_SLACK 512

/* What an event is to the period. */
typedef enum {
    HPCB_PERIOD_NONE,   /* there is none */
    HPCB_PERIOD_INSIDE, /* there is one */
    HPCB_PERIOD_END,    /* an iteration of it ends with this event */
} hpcb_period_place_t;

/* Set up by hpcb_period_reset; read period only.  Events go in from the end: the
 * latest is at history[latest], the one m before it at history[latest + m]. */
typedef struct {
    unsigned period; /* events, 0: none */
    unsigned left;   /* events to the end of the iteration */
    unsigned held; /* events for which it has held; the window's length: that or more */
    unsigned latest;
    bool light; /* held for so long that run is not kept */
    uint16_t history[HPCB_PERIOD_WINDOW + HPCB_PERIOD_SLACK];
    int16_t run[HPCB_PERIOD_MAX]; /* r(m), at most CAP, at m - 1 */
} hpcb_period_t;

void hpcb_period_reset(hpcb_period_t *period);

/* The slow part of hpcb_period_event. */
hpcb_period_place_t hpcb_period_search(hpcb_period_t *period, uint16_t symbol);

/*
 * Any number as a symbol, which is never 0.  Two of a handful of events are taken for
 * one by a chance of 1 in 65535, and then the period is still found in nearly all
 * streams.
 */
static inline uint16_t hpcb_period_symbol(uint64_t event)
{
    uint64_t mixed = (event ^ event >> 32) * 0x9e3779b97f4a7c15U;

    return (uint16_t)((uint32_t)(mixed >> 32) * (uint64_t)UINT16_MAX >> 32) + 1;
}

/* The next event of the stream; symbol is not 0. */
static inline hpcb_period_place_t hpcb_period_event(hpcb_period_t *period,
                                                    uint16_t symbol)
{
    if (__builtin_expect(!period->light || period->latest == 0 ||
                             period->history[period->latest + period->period - 1] !=
                                 symbol,
                         0))
        return hpcb_period_search(period, symbol);
    period->history[--period->latest] = symbol;
    if (--period->left > 0)
        return HPCB_PERIOD_INSIDE;
    period->left = period->period;
    return HPCB_PERIOD_END;
}

#endif
