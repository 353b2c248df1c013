/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Coordinated windows (Jones, "Linux OS Jitter Measurements at Large Node
 * Counts", 3.2): a period has a favoured part, in which a parallel job runs ahead of
 * everything, and a regular part, in which everything else gets its turn.  The favoured
 * part comes first.
 *
 * Phase is a function of the wall clock alone: phase = (now - epoch) mod period.  Nodes
 * whose clocks agree switch together without a message, and there is no state that a
 * clock step, a leap second (the kernel repeats or drops a second) or a restart could
 * put out of step.  DST does not exist here: times are CLOCK_REALTIME's.
 *
 * Whoever sleeps until an edge must wake up when the clock is set (timerfd with
 * TFD_TIMER_CANCEL_ON_SET) and ask again.
 */
#ifndef HPCB_POLICY_WINDOW_H
#define HPCB_POLICY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define HPCB_WINDOW_PERIOD_MIN_NS INT64_C(1000000)       /* 1 ms */
#define HPCB_WINDOW_PERIOD_MAX_NS INT64_C(3600000000000) /* 1 h */

/* All in nanoseconds; epoch since 1970.  Good where period is within the limits above
 * and 0 < favoured < period. */
typedef struct {
    int64_t period_ns;
    int64_t favoured_ns;
    int64_t epoch_ns;
} hpcb_window_t;

typedef struct {
    bool favoured;
    int64_t edge_ns; /* when it ends, > now; INT64_MAX where it does not fit */
} hpcb_window_phase_t;

bool hpcb_window_good(const hpcb_window_t *window);

/* The phase at now (nanoseconds since 1970, any value).  window must be good. */
hpcb_window_phase_t hpcb_window_phase(const hpcb_window_t *window, int64_t now_ns);

/* How many edges (beginnings and ends of favoured parts) lie in (from, to]; 0 where to
 * is not after from.  For counting edges that were slept over. */
uint64_t hpcb_window_edges(const hpcb_window_t *window, int64_t from_ns, int64_t to_ns);

#endif
