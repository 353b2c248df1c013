/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A thread's wait inside a blocking MPI call.  entry.c reports begin and end of such a
 * call; hook.c reports the passes of the MPI's progress loop in between.  Passes that
 * found nothing may sleep here, for a time computed by policy/nap.
 *
 *   hpcb_wait_enter, { hpcb_wait_event | hpcb_wait_idle } ..., hpcb_wait_leave
 *
 * All state is in thread-local storage.  No function here allocates, takes a lock or
 * fails.
 */
#ifndef HPCB_MPI_WAIT_H
#define HPCB_MPI_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include "policy/nap.h"

/* The first passes of a wait, and at most one stride more, cost nothing else, because
 * short waits end in them. */
#define HPCB_WAIT_FREE_PASSES 8

/* Maximum number of blocking calls that are nested one after another; the next one
 * counts as a call of its own. */
#define HPCB_WAIT_CALLS_INSIDE 16

/* Times in ns of CLOCK_MONOTONIC. */
typedef struct {
    /*
     * Frame of the outermost present blocking call; 0: none.  Calls inside of it are
     * made by the MPI or a tool.  A call that was left by longjmp or a C++ exception is
     * detected if the next one has a frame that is not below its own, or if more calls
     * seem to be nested than an MPI or a tool makes.  If they were the MPI's after all,
     * the rest of the call is polled.
     */
    uintptr_t frame;
    unsigned inside; /* number of calls inside of it so far */
    uintptr_t call_site;
    bool event;      /* a pass since the last reading found something */
    bool served;     /* data have moved in this wait: moved and burst are valid */
    bool doubtful;   /* the last burst is a single long pass */
    bool woken;      /* a message ended the last sleep */
    bool polls_more; /* the progress loop polls UCX, and seldom or never yields */
    unsigned polls;  /* of UCX since the last yield; of the thread, see hook.c */
    unsigned left;   /* passes without a result until the next reading of the clock */
    unsigned stride; /* the same between two readings; of the thread */
    unsigned since_nap; /* readings since the last sleep, or since began */
    uint64_t began;     /* 0: the clock has not been read yet */
    uint64_t looked;    /* the last reading */
    uint64_t moved;     /* last time that data moved */
    uint64_t burst;   /* begin of the present series of moves without a longer pause */
    uint64_t came;    /* estimated begin of that series, which may lie in a sleep */
    uint64_t quiet;   /* time before that in which nothing moved */
    uint64_t first;   /* time of the first arrival after a quiet time; 0: none yet */
    uint64_t stirred; /* time of the last interruption (thread, signal); 0: never */
    uint64_t blind_from; /* begin of the last sleep, its end if a message ended it; 0:
                            none, or interrupted */
    uint64_t usual_pass; /* shortest time between two readings */
    hpcb_nap_site_t *site;
} hpcb_wait_t;

extern _Thread_local hpcb_wait_t hpcb_wait;

/* Read the settings; from MPI_Init, before any other thread may call MPI. */
void hpcb_wait_setup(void);

/* Slow paths of the functions below. */
bool hpcb_wait_look(hpcb_wait_t *wait, bool locked);
void hpcb_wait_learn(hpcb_wait_t *wait);

/* Return whether a call with its stack frame at frame seems to be nested. */
static inline bool hpcb_wait_is_inside(const hpcb_wait_t *wait, uintptr_t frame)
{
    return __builtin_expect(wait->frame > frame, 0);
}

/* Begin a blocking call at call_site, with its stack frame at frame, that is not
 * nested: hpcb_wait_leave must follow. */
static inline void hpcb_wait_begin(hpcb_wait_t *wait, uintptr_t call_site,
                                   uintptr_t frame)
{
    wait->frame = frame;
    wait->inside = 0;
    wait->call_site = call_site;
    wait->event = false;
    wait->left = HPCB_WAIT_FREE_PASSES + wait->stride;
    wait->began = 0;
}

/* Begin a call that may be nested.  Return whether hpcb_wait_leave must follow. */
static inline bool hpcb_wait_enter(hpcb_wait_t *wait, uintptr_t call_site,
                                   uintptr_t frame)
{
    if (hpcb_wait_is_inside(wait, frame) && wait->inside++ < HPCB_WAIT_CALLS_INSIDE)
        return false;
    hpcb_wait_begin(wait, call_site, frame);
    return true;
}

/* End the outermost blocking call, unless it was taken for one that was left. */
static inline void hpcb_wait_leave(hpcb_wait_t *wait)
{
    bool goes_on = wait->frame != 0;

    wait->frame = 0;
    if (__builtin_expect(wait->began != 0, 0) && goes_on)
        hpcb_wait_learn(wait);
}

/* Report a pass of the progress loop that found something.  Not all of these are
 * reported (Open MPI receives TCP data through libevent), so a long pass counts as
 * well. */
static inline void hpcb_wait_event(hpcb_wait_t *wait)
{
    wait->event = true;
}

/* Report a pass that found nothing; return when another one is useful.  locked: the
 * thread holds a lock of the MPI, for which other threads may wait.  Return true if the
 * thread slept meanwhile. */
static inline bool hpcb_wait_idle(hpcb_wait_t *wait, bool locked)
{
    if (wait->left > 0) {
        wait->left--;
        return false;
    }
    return hpcb_wait_look(wait, locked);
}

#endif
