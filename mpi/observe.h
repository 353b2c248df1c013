/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Watches the MPI calls of one thread, the one that called MPI_Init: finds the
 * program's iterations (policy/periodicity.h), and how much of them the rank computed
 * and how much it waited in blocking calls, and says so in its page (page.h).  It never
 * communicates, takes no lock, and makes no system call but to read the clock, which is
 * none either.
 *
 * A call costs a few nanoseconds once the period is old.  The clock costs more, so it
 * is read at every call in one iteration of a *group* only; groups are so long that
 * this is less than 0.05 % of the time (PER_CALL_NS), and one where iterations are as
 * long anyhow.  Where no period is found the detector rests, for longer and longer, and
 * intervals of some calls are measured instead.
 *
 * Nonblocking calls count as computing; so do the many calls of a program that waits by
 * calling MPI_Test, which are not watched at all: their number differs from iteration
 * to iteration.
 */
#ifndef HPCB_MPI_OBSERVE_H
#define HPCB_MPI_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>
#include "common/ppr.h"
#include "common/page.h"
#include "policy/periodicity.h"

/* The clock is read once in so many iterations, to see whether they still are as short
 * as they were. */
#define HPCB_OBSERVE_CHECK 16

typedef struct {
    /* The frame of the outermost call under way, 0: none.  Calls inside of it are the
     * MPI's own or a tool's.  An older frame means that the call was left by longjmp or
     * a C++ exception. */
    uintptr_t inside;
    uint64_t calls;               /* twice the blocking ones */
    bool ends;                    /* the call under way is the last of an iteration */
    bool timing;                  /* the clock is read at each call */
    bool resting;                 /* no period is looked for */
    bool published;               /* the page says that there is a period */
    uint64_t mark;                /* when the clock was read last */
    uint64_t compute, wait;       /* of what is being timed, ns */
    uint64_t compute_of, wait_of; /* of the group's timed iteration */
    uint64_t left;                /* iterations to the end of the group */
    uint64_t length;              /* iterations of the group */
    uint64_t began;               /* the group */
    uint64_t found;               /* when the first iteration of this period began */
    uint64_t ended;               /* iterations of this period */
    uint64_t nothing;  /* calls without a period, since the last rest or period */
    uint64_t rest;     /* length of the last rest in calls, 0: none yet */
    uint64_t timed;    /* calls of the interval that is being timed */
    uint64_t gap;      /* calls until the next interval */
    unsigned priority; /* that the page asks for, 0: none */
    hpcb_page_t *page;
    hpcb_page_t said; /* what is in the page, which anybody may change */
    hpcb_period_t period;
} hpcb_observer_t;

/* Of the thread that is watched; NULL in all others, and where nothing is. */
extern _Thread_local hpcb_observer_t *hpcb_observer;

/* Begin to watch the calling thread, if the process has been given a page.  From
 * MPI_Init. */
void hpcb_observe_start(void);

/* From MPI_Finalize; by any thread. */
void hpcb_observe_stop(void);

/* The same with a page of the caller's, for tests. */
void hpcb_observe_page(hpcb_page_t *page);

/* The slow parts of what follows: the period is young, just lost, or there is none; no
 * period is looked for; an iteration of which something is to be noted has ended; the
 * time up to now was spent computing, or waiting. */
void hpcb_observe_young(hpcb_observer_t *observer, hpcb_period_place_t place);
void hpcb_observe_resting(hpcb_observer_t *observer);
void hpcb_observe_end(hpcb_observer_t *observer);
void hpcb_observe_compute(hpcb_observer_t *observer);
void hpcb_observe_wait(hpcb_observer_t *observer);

static inline void hpcb_observe_mark(hpcb_observer_t *observer, uint64_t waits)
{
    __atomic_store_n(&observer->page->waits, waits, __ATOMIC_RELAXED);
}

/*
 * A call begins: event names it and the place that it is called from.  Whether it is
 * the program's own: then hpcb_observe_leave must follow.
 */
static inline bool hpcb_observe_enter(hpcb_observer_t *observer, uint64_t event,
                                      uintptr_t frame, bool blocks)
{
    hpcb_period_place_t place;

    if (__builtin_expect(observer->inside > frame, 0))
        return false;
    observer->inside = frame;
    if (__builtin_expect(observer->timing, 0))
        hpcb_observe_compute(observer);
    if (__builtin_expect(observer->resting, 0)) {
        hpcb_observe_resting(observer);
    } else {
        place = hpcb_period_event(&observer->period, hpcb_period_symbol(event));
        observer->ends = place == HPCB_PERIOD_END;
        if (__builtin_expect(!observer->period.light, 0))
            hpcb_observe_young(observer, place);
    }
    if (blocks)
        hpcb_observe_mark(observer, (observer->calls += 2) + 1);
    /* Who only polls leaves the core to the others. */
    if (blocks && observer->priority)
        hpcb_ppr_write(HPCB_PPR_LOW);
    return true;
}

static inline void hpcb_observe_leave(hpcb_observer_t *observer, bool blocks)
{
    if (blocks)
        hpcb_observe_mark(observer, observer->calls);
    if (__builtin_expect(observer->timing && blocks, 0))
        hpcb_observe_wait(observer);
    if (observer->ends &&
        (observer->timing || --observer->left % HPCB_OBSERVE_CHECK == 0))
        hpcb_observe_end(observer);
    observer->inside = 0;
    /* A system call, of which there may have been some, ends with the usual one. */
    if (blocks && observer->priority)
        hpcb_ppr_write(observer->priority);
}

#endif
