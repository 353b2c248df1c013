/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Waiting inside a blocking call: test, hpcb_wait_pause, test, ... hpcb_wait_end.  A
 * wait lies on the stack of the thread that waits; what is learned from it lies in
 * that thread's own storage.
 */
#ifndef HPCB_MPI_WAIT_H
#define HPCB_MPI_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include "policy/nap.h"

/* The first tests of a wait cost nothing but themselves: short waits end among them. */
#define HPCB_WAIT_FREE_TESTS 8

/* Times in ns of CLOCK_MONOTONIC; begin with all zero. */
typedef struct {
    unsigned tests;
    unsigned since_nap;  /* tests since the last nap, or since the clock is read */
    uint64_t began;      /* 0: the clock has not been read yet */
    uint64_t looked;     /* when the test under way began */
    uint64_t moved;      /* end of the last test that moved data */
    uint64_t blind_from; /* begin of the last nap, its end if it was woken */
    uint64_t usual_test; /* the shortest test so far */
    hpcb_nap_site_t *site;
} hpcb_wait_t;

/* Where the application called from: set by entry.c, read by this thread's waits. */
extern _Thread_local uintptr_t hpcb_call_site;

/* Read the settings; from MPI_Init, before any other thread may call MPI. */
void hpcb_wait_setup(void);

/* The slow parts of the two below. */
void hpcb_wait_look(hpcb_wait_t *wait);
void hpcb_wait_learn(const hpcb_wait_t *wait);

/* A test has failed: come back when it is worth while to test again. */
static inline void hpcb_wait_pause(hpcb_wait_t *wait)
{
    if (++wait->tests > HPCB_WAIT_FREE_TESTS)
        hpcb_wait_look(wait);
}

/* The last test has succeeded. */
static inline void hpcb_wait_end(const hpcb_wait_t *wait)
{
    if (wait->began != 0)
        hpcb_wait_learn(wait);
}

#endif
