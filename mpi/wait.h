/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A thread's wait inside a blocking MPI call.  entry.c says when such a call begins and
 * ends; hook.c reports the passes of the MPI's progress loop in between, and those
 * that found nothing may sleep here for as long as policy/nap.h says.
 *
 *   hpcb_wait_enter, { hpcb_wait_event | hpcb_wait_idle } ..., hpcb_wait_leave
 *
 * All state lies in the thread's own storage.  No function here allocates, takes a lock
 * or fails.
 */
#ifndef HPCB_MPI_WAIT_H
#define HPCB_MPI_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include "policy/nap.h"

/* The first passes of a wait, and as many as a stride more, cost nothing but
 * themselves: short waits end in them. */
#define HPCB_WAIT_FREE_PASSES 8

/* So many blocking calls, one after another, may lie inside of one; what comes then is
 * a call of its own. */
#define HPCB_WAIT_CALLS_INSIDE 16

/* Times in ns of CLOCK_MONOTONIC. */
typedef struct {
    /*
     * The frame of the outermost blocking call under way, 0: none.  Calls inside of it
     * are the MPI's own or a tool's.  One that was left by longjmp or a C++ exception
     * shows when the next one has a frame that is not below its own, or when more calls
     * seem to lie inside of it than an MPI or a tool makes.  If they were the MPI's
     * after all, the rest of it is polled.
     */
    uintptr_t frame;
    unsigned inside; /* calls inside of it so far */
    uintptr_t call_site;
    bool event;          /* a pass since the last look brought something */
    bool served;         /* data moved in this wait: moved and burst are valid */
    bool doubtful;       /* the last burst is one pass that took long */
    bool woken;          /* the last nap was ended by a message */
    bool polls_more;     /* the progress loop polls UCX, and yields seldom or never */
    unsigned polls;      /* of UCX since the last yield; of the thread, see hook.c */
    unsigned left;       /* passes that find nothing before the next look */
    unsigned stride;     /* the same from one look to the next; of the thread */
    unsigned since_nap;  /* looks since the last nap, or since began */
    uint64_t began;      /* 0: the clock has not been read yet */
    uint64_t looked;     /* the last look */
    uint64_t moved;      /* the last time that data moved */
    uint64_t burst;      /* since when they move without a longer break */
    uint64_t came;       /* the same, but for the nap that it may have come in */
    uint64_t quiet;      /* for how long nothing had moved before that */
    uint64_t first;      /* when something came after it had been quiet; 0: not yet */
    uint64_t stirred;    /* when another thread or a signal came in between; 0: never */
    uint64_t blind_from; /* begin of the last nap, its end if woken; 0: none, stirred */
    uint64_t usual_pass; /* the shortest time between two looks */
    hpcb_nap_site_t *site;
} hpcb_wait_t;

extern _Thread_local hpcb_wait_t hpcb_wait;

/* Take over the settings; from MPI_Init, before any other thread may call MPI. */
void hpcb_wait_setup(void);

/* The slow parts of what follows. */
bool hpcb_wait_look(hpcb_wait_t *wait, bool locked);
void hpcb_wait_learn(hpcb_wait_t *wait);

/* Whether a call with its stack frame at frame seems to lie inside of one. */
static inline bool hpcb_wait_is_inside(const hpcb_wait_t *wait, uintptr_t frame)
{
    return __builtin_expect(wait->frame > frame, 0);
}

/* A blocking call begins at call_site, with its stack frame at frame, that does not lie
 * inside of one: hpcb_wait_leave must follow. */
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

/* The same of one that may lie inside of one.  Return whether hpcb_wait_leave must
 * follow. */
static inline bool hpcb_wait_enter(hpcb_wait_t *wait, uintptr_t call_site,
                                   uintptr_t frame)
{
    if (hpcb_wait_is_inside(wait, frame) && wait->inside++ < HPCB_WAIT_CALLS_INSIDE)
        return false;
    hpcb_wait_begin(wait, call_site, frame);
    return true;
}

/* The outermost blocking call ends, if it has not been taken for one that was left. */
static inline void hpcb_wait_leave(hpcb_wait_t *wait)
{
    bool goes_on = wait->frame != 0;

    wait->frame = 0;
    if (__builtin_expect(wait->began != 0, 0) && goes_on)
        hpcb_wait_learn(wait);
}

/* A pass of the progress loop brought something.  Not all that does is reported: what
 * Open MPI gets through libevent (TCP) is not, so a long pass counts as well. */
static inline void hpcb_wait_event(hpcb_wait_t *wait)
{
    wait->event = true;
}

/* A pass found nothing: return when it is worth while to make another one.  locked: the
 * thread holds a lock of the MPI's, for which its other threads may have to wait. True:
 * the thread slept meanwhile. */
static inline bool hpcb_wait_idle(hpcb_wait_t *wait, bool locked)
{
    if (wait->left > 0) {
        wait->left--;
        return false;
    }
    return hpcb_wait_look(wait, locked);
}

#endif
