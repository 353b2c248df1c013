/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Coordinated windows (Jones, "Linux OS Jitter Measurements at Large Node Counts",
 * 3.2): each period begins with a boosted part, in which a parallel job runs before
 * everything else, followed by a regular part, in which everything else gets its turn.
 *
 * The phase is a function of the wall clock alone: phase = (now - epoch) mod period.
 * Nodes with synchronized clocks switch together without a message.  There is no state
 * that a clock step, a leap second (the kernel repeats or drops a second) or a restart
 * could make inconsistent.  Times are CLOCK_REALTIME, so daylight saving time has no
 * effect.
 *
 * A caller that sleeps until the next switch must wake up when the clock is set
 * (timerfd with TFD_TIMER_CANCEL_ON_SET) and compute the phase again.
 */
#ifndef HPCB_POLICY_WINDOW_H
#define HPCB_POLICY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define HPCB_WINDOW_PERIOD_MIN_NS INT64_C(1000000)       /* 1 ms */
#define HPCB_WINDOW_PERIOD_MAX_NS INT64_C(3600000000000) /* 1 h */

/* All in nanoseconds; epoch since 1970.  Good if period is within the limits above and
 * 0 < favoured < period. */
typedef struct {
    int64_t period_ns;
    int64_t favoured_ns;
    int64_t epoch_ns;
} hpcb_window_t;

typedef struct {
    bool favoured;
    int64_t edge_ns; /* end of the part, > now; INT64_MAX if it does not fit */
} hpcb_window_phase_t;

bool hpcb_window_good(const hpcb_window_t *window);

/* Return the phase at now (nanoseconds since 1970, any value).  window must be good. */
hpcb_window_phase_t hpcb_window_phase(const hpcb_window_t *window, int64_t now_ns);

/* Return the number of switches (begins and ends of boosted parts) in (from, to]; 0
 * unless to is after from.  For counting switches that were missed during sleep. */
uint64_t hpcb_window_edges(const hpcb_window_t *window, int64_t from_ns, int64_t to_ns);

#endif
