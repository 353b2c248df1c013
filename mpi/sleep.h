/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Short sleeps that end early if data arrive on a network connection, or by another
 * thread. */
#ifndef HPCB_MPI_SLEEP_H
#define HPCB_MPI_SLEEP_H

#include <stdint.h>

/* Reasons for the end of a sleep. */
typedef enum {
    HPCB_SLEEP_TO_THE_END, /* its time is over */
    HPCB_SLEEP_WOKEN,      /* data arrived, or a full connection accepts data again */
    HPCB_SLEEP_STIRRED,    /* neither: another thread or a signal */
} hpcb_sleep_end_t;

/*
 * Sleep for ns nanoseconds, or until data arrive on any TCP connection of the process,
 * a signal is handled, or another thread calls hpcb_sleep_end_one.  The thread's timer
 * slack is minimal meanwhile.  now_ns (CLOCK_MONOTONIC) determines when to search for
 * new connections.  Callable by any thread; no cancellation point.
 */
hpcb_sleep_end_t hpcb_sleep(uint64_t ns, uint64_t now_ns);

/* Stop watching connections until hpcb_sleep searches for new ones: while no thread
 * sleeps, watching costs about 100 ns per message.  Callable by any thread; no
 * cancellation point. */
void hpcb_sleep_unwatch(void);

/* Prepare for hpcb_sleep_end_one; once, from MPI_Init.  If that fails, other threads
 * cannot end sleeps. */
void hpcb_sleep_can_be_ended(void);

/* End the sleep of one thread, if any sleeps.  A sleep that begins at the same time may
 * end early.  Callable by any thread; does not block. */
void hpcb_sleep_end_one(void);

#endif
