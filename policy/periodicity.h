/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Dynamic periodicity detector: the distance at which a stream of events repeats itself
 * (Boneti's thesis, section 5.2.1, after Freitag, Corbalan and Labarta: a period is a
 * distance m at which the stream differs nowhere from itself).  Pure, streaming,
 * constant memory, no allocation.  One detector per stream, not thread-safe.
 *
 * Definition.  Let r(m) be the number of successive events up to the latest that each
 * equal the event m before.
 *  - A period m, once found, holds while each new event equals the event m before.
 *  - Otherwise the period is the smallest m, at most HPCB_PERIOD_MAX, with r(m) >= m
 *    and r(m) >= 2: the latest m events have occurred twice in a row (single ones three
 *    times).  If there is none, the period is 0.  So an inner loop is found first.
 *    After its end the outer loop is found as soon as it has run twice, and is then
 *    kept.  An outer loop that does not fit into the window leaves the inner one.
 *
 * An event costs HPCB_PERIOD_MAX comparisons, eight at a time, while the period is
 * unknown or young, and one after it has held for the length of the window.
 */
#ifndef HPCB_POLICY_PERIODICITY_H
#define HPCB_POLICY_PERIODICITY_H

#include <stdbool.h>
#include <stdint.h>

#define HPCB_PERIOD_WINDOW 512
#define HPCB_PERIOD_MAX    (HPCB_PERIOD_WINDOW / 2)

/* The window moves in memory once in this many events. */
#define HPCB_PERIOD_SLACK 512

/* Relation of an event to the period. */
typedef enum {
    HPCB_PERIOD_NONE,   /* there is none */
    HPCB_PERIOD_INSIDE, /* there is one */
    HPCB_PERIOD_END,    /* an iteration ends with this event */
} hpcb_period_place_t;

/* Initialize with hpcb_period_reset; only period is public.  Events are stored
 * backwards: the latest is history[latest], the one m before it history[latest + m]. */
typedef struct {
    unsigned period; /* events, 0: none */
    unsigned left;   /* events to the end of the iteration */
    unsigned held;   /* events for which it has held, at most the window's length */
    unsigned latest;
    bool light; /* held for so long that run is not kept */
    uint16_t history[HPCB_PERIOD_WINDOW + HPCB_PERIOD_SLACK];
    int16_t run[HPCB_PERIOD_MAX]; /* r(m), at most CAP, at m - 1 */
} hpcb_period_t;

void hpcb_period_reset(hpcb_period_t *period);

/* Slow path of hpcb_period_event. */
hpcb_period_place_t hpcb_period_search(hpcb_period_t *period, uint16_t symbol);

/*
 * Return a symbol, never 0, for any number.  Two different events get the same symbol
 * with a probability of 1 in 65535, and even then the period is found in nearly all
 * streams.
 */
static inline uint16_t hpcb_period_symbol(uint64_t event)
{
    uint64_t mixed = (event ^ event >> 32) * 0x9e3779b97f4a7c15U;

    return (uint16_t)((uint32_t)(mixed >> 32) * (uint64_t)UINT16_MAX >> 32) + 1;
}

/* Add the next event of the stream.  symbol must not be 0. */
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
