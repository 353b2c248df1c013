/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A wall clock that a test may set.  The machine's own is everybody's; so the program
 * is linked with --wrap=clock_gettime,timerfd_settime,read and sees it through these,
 * which do what the kernel does (timerfd_create(2)): a timer of CLOCK_REALTIME expires
 * by the clock as it is then, and one with TFD_TIMER_CANCEL_ON_SET can be read when the
 * clock is set, and says ECANCELED once.  CLOCK_MONOTONIC is the machine's.
 */
#ifndef HPCB_TESTS_HPCBD_WINDOWS_CLOCK_H
#define HPCB_TESTS_HPCBD_WINDOWS_CLOCK_H

#include <stdint.h>

/* Set it: it is by_ns later, or earlier. */
void fake_clock_set(int64_t by_ns);

/* The same, but just before the next timer of the wall clock is started, where no
 * timer of ours is told. */
void fake_clock_set_unseen(int64_t by_ns);

int64_t fake_clock_ns(void);

/* When the timer of the wall clock expires, by that clock; 0: none is set. */
int64_t fake_clock_timer_ns(void);

/* Let the timer with this interval expire now. */
void fake_clock_expire(int64_t interval_ns);

#endif
