/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Time in tests of waits.  A rank is late by the clock, so that other load on the
 * machine only makes it later.
 */
#ifndef HPCB_TESTS_MPI_LATE_H
#define HPCB_TESTS_MPI_LATE_H

#include <time.h>

static inline double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Sleeps for seconds, whatever signals come. */
static inline void be_late(double seconds)
{
    double until = now_s() + seconds;
    struct timespec left;

    do {
        left.tv_sec = 0;
        left.tv_nsec = 1000000;
        nanosleep(&left, NULL);
    } while (now_s() < until);
}

#endif
