/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Sleeping for a short while, ended early by what comes in on a network connection, or
 * by another thread. */
#ifndef HPCB_MPI_SLEEP_H
#define HPCB_MPI_SLEEP_H

#include <stdint.h>

/* What ended a sleep. */
typedef enum {
    HPCB_SLEEP_TO_THE_END, /* its time is over */
    HPCB_SLEEP_WOKEN,      /* data came in, or a connection that was full takes some */
    HPCB_SLEEP_STIRRED,    /* neither: another thread, or a signal */
} hpcb_sleep_end_t;

/*
 * Sleep for ns nanoseconds, or until data come in on any TCP connection of the process,
 * a signal is handled, or another thread calls hpcb_sleep_end_one.  Meanwhile the timer
 * slack of the thread is as small as can be.  now_ns
 * (CLOCK_MONOTONIC) says when it is time to look for new connections.  Any thread; no
 * cancellation point.
 */
hpcb_sleep_end_t hpcb_sleep(uint64_t ns, uint64_t now_ns);

/* Stop to watch connections until hpcb_sleep looks for new ones: with each message that
 * comes in while nobody sleeps the watching costs some 100 ns.  Any thread; no
 * cancellation point. */
void hpcb_sleep_unwatch(void);

/* Prepare for hpcb_sleep_end_one; once, from MPI_Init.  If that fails, sleeps cannot be
 * ended by other threads. */
void hpcb_sleep_can_be_ended(void);

/* End the sleep of one thread, if any sleeps.  One that begins at the same time may end
 * early.  Any thread; does not block. */
void hpcb_sleep_end_one(void);

#endif
