/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Observer of the MPI calls of one thread, the one that called MPI_Init: finds the
 * program's iterations (policy/periodicity.h), measures how much of them the rank
 * computes and how much it waits in blocking calls, and writes this to its status page
 * (common/page.h).  It never communicates, takes no lock, and makes no system call
 * except reading the clock, which is none either.
 *
 * A call costs a few nanoseconds once the period is old.  The clock costs more, so it
 * is read at every call only in one iteration of a *group*.  Groups are so long that
 * this takes less than 0.05 % of the time (PER_CALL_NS); if iterations are long, a
 * group is one of them.  If no period is found the detector rests, for growing times,
 * and intervals of some calls are measured instead.
 *
 * Nonblocking calls count as compute time.  So do the calls of a program that waits by
 * calling MPI_Test; these are not observed at all, because their number differs from
 * iteration to iteration.
 */
#ifndef HPCB_MPI_OBSERVE_H
#define HPCB_MPI_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>
#include "common/ppr.h"
#include "common/page.h"
#include "policy/periodicity.h"

/* The clock is read once in so many iterations to check whether they are still
 * short. */
#define HPCB_OBSERVE_CHECK 16

typedef struct {
    /* Frame of the outermost present call; 0: none.  Calls inside of it are made by the
     * MPI or a tool.  An older frame means that the call was left by longjmp or a C++
     * exception. */
    uintptr_t inside;
    uint64_t calls;               /* twice the number of blocking ones */
    bool ends;                    /* the present call is the last of an iteration */
    bool timing;                  /* the clock is read at each call */
    bool resting;                 /* no period is looked for */
    bool published;               /* the page has a period */
    uint64_t mark;                /* last reading of the clock */
    uint64_t compute, wait;       /* of the part that is being timed, ns */
    uint64_t compute_of, wait_of; /* of the group's timed iteration */
    uint64_t left;                /* iterations until the end of the group */
    uint64_t length;              /* iterations of the group */
    uint64_t began;               /* begin of the group */
    uint64_t found;               /* begin of the first iteration of this period */
    uint64_t ended;               /* completed iterations of this period */
    uint64_t nothing;  /* calls without a period since the last rest or period */
    uint64_t rest;     /* length of the last rest in calls, 0: none yet */
    uint64_t timed;    /* calls of the interval being timed */
    uint64_t gap;      /* calls until the next interval */
    unsigned priority; /* requested by the page; 0: none */
    hpcb_page_t *page;
    hpcb_page_t said; /* content of the page, which anybody may change */
    hpcb_period_t period;
} hpcb_observer_t;

/* Of the observed thread; NULL in all others, and if nothing is observed. */
extern _Thread_local hpcb_observer_t *hpcb_observer;

/* Start observing the calling thread, if the process has a page.  From MPI_Init. */
void hpcb_observe_start(void);

/* Stop; from MPI_Finalize, by any thread. */
void hpcb_observe_stop(void);

/* Start with a page of the caller, for tests. */
void hpcb_observe_page(hpcb_page_t *page);

/* Slow paths of the functions below: the period is young, just lost, or there is none;
 * the detector rests; an iteration has ended of which something must be noted; the time
 * until now was compute time, or wait time. */
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
 * Begin a call: event identifies it and its call site.  Return whether it is the
 * program's own: hpcb_observe_leave must follow then.
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
    /* A thread that only polls leaves the core to the others. */
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
    /* A system call, if there was one, ends with the default priority. */
    if (blocks && observer->priority)
        hpcb_ppr_write(observer->priority);
}

#endif
