/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The upper bound of what guests may cost a primary, and the end of guests that get
 * next to nothing.
 *
 * Harm: while the interval of the estimate (policy/harm) lies above the limit as a
 * whole, the guard takes a step further: guests next to the primary are restricted to
 * half of their time, to a quarter, stopped.  While it lies below the limit as a whole,
 * they get a step back, after a pause that doubles with each restriction; guests that
 * were stopped are tried again after the pause, and requeued if they prove as harmful
 * as before.  In between nothing changes.  If the primary cannot be compared for that
 * pause (it waits, is suspended, or wants no CPU), there is nothing to be harmed, and
 * guests that run for a part of the time are free again.
 *
 * With half of the time the primary's tasks get long time slices, which cost guests
 * nothing and cure some kinds of harm, but not caches and memory.  If the interval lies
 * below the limit by then, guests have all of their time back without a pause, and only
 * the slices stay: if it was not these that cured it, the next step is half again.
 *
 * Of many guests hardly all are guilty.  If more than HPCB_GUARD_GO_MAX are to be
 * requeued, half of them is stopped and the other half runs in a quarter of the time:
 * whichever half the harm comes from is halved again, until so few are left.
 *
 * Crumbs: next to a primary that never waits an idle group still runs, for a tick at a
 * time.  That costs a fine-grained parallel primary more than it gives the guest, so a
 * guest whose share stays below a minimum is stopped until its CPUs are left idle
 * again.  One that lacks its minimum for too long is requeued, to where there is room.
 * What counts is the sum of what it lacks: a primary that leaves its CPUs idle for a
 * moment now and then does not keep a starving guest next to it.
 *
 * Times are nanoseconds of a clock that only goes forward; shares are parts of one CPU.
 */
#ifndef HPCB_POLICY_GUARD_H
#define HPCB_POLICY_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include "policy/harm.h"

/* What guests next to a primary may do; each allows less than the one before. */
typedef enum {
    HPCB_GUARD_FREE,
    HPCB_GUARD_SLICES,  /* all; the primary's tasks have long slices from here on; only
                           on the way back */
    HPCB_GUARD_HALF,    /* runs in half of the time */
    HPCB_GUARD_QUARTER, /* in a quarter of it */
    HPCB_GUARD_STOP,
    HPCB_GUARD_REQUEUE, /* and this pair of programs is bad company */
} hpcb_guard_level_t;

/* Guests at this level run in one of so many turns of equal length; 0: in none. */
unsigned hpcb_guard_turns(hpcb_guard_level_t level);

typedef struct {
    double max_slowdown; /* part of the primary's run time, > 0 */
    uint64_t look_ns;    /* evidence is collected this long before the next step */
    uint64_t return_ns;  /* first pause before a step back */
    uint64_t longest_ns; /* last pause */
    bool slices;         /* the kernel takes slices; without, that level is left out */
    /* No step leads beyond it, FREE: no bound (policy/progress.h).  Who is beyond it
     * already comes back as usual. */
    hpcb_guard_level_t most;
} hpcb_guard_conf_t;

/* Of guests that are restricted alike.  All zero: free, nothing known. */
typedef struct {
    hpcb_guard_level_t level;
    uint64_t since_ns; /* of the last step */
    uint64_t from_ns;  /* evidence is collected from here on: that step or later */
    uint64_t pause_ns; /* before the next step back; 0: the first one */
    bool tried_again;  /* after a stop, and not free since */
    bool refused;      /* by the bound, when evidence was clear last */
    bool first_half;   /* it came with the slices, which may be what helps */
    /* At REQUEUE: how often those that are to go were halved, which part of all they
     * are, and whether it is known that it is these. */
    unsigned halvings;
    uint32_t part;
    bool found;
} hpcb_guard_t;

/* So many guests of a group are requeued together at most. */
#define HPCB_GUARD_GO_MAX 16

/*
 * Take a step, if it is time for one, and return the level.  estimate: of comparisons
 * that were made since from_ns (when it changes, the caller forgets older ones); NULL:
 * there is none yet.  Once at REQUEUE it stays there until the caller has done that.
 */
hpcb_guard_level_t hpcb_guard_step(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard,
                                   const hpcb_harm_estimate_t *estimate,
                                   uint64_t now_ns);

/*
 * Of one primary.  All zero: all are free, nothing known.  What it lacks is mostly the
 * time of its CPUs, so that guests on its cores are restricted first.  The others of
 * the node, which share caches and memory with it, are restricted if these cannot be
 * restricted further and it is still harmed.  Guests that were to be requeued and are
 * still there are a group of their own, for which the others do not answer: they are
 * stopped, tried again after the longest pause, and restricted before all others.
 */
typedef struct {
    hpcb_guard_t near; /* guests that share cores with it */
    hpcb_guard_t far;  /* the other guests of the node */
    hpcb_guard_t left; /* whoever was to be requeued; FREE: belongs to these again */
    uint64_t heard_ns; /* the primary was compared last, or could not be for us */
} hpcb_guards_t;

/* Whether there are such guests. */
typedef struct {
    bool near, far, left;
} hpcb_guards_who_t;

/*
 * Take a step with one of the groups at most, if it is time for one.  estimate: of
 * comparisons that were made since hpcb_guards_from (when it changes, the caller
 * forgets older ones); NULL: there is none yet.  who: ran since then, or would have but
 * for the guard.  A group at REQUEUE stays there until hpcb_guards_requeue.  Only near
 * is ever at SLICES: slices help on shared CPUs only.
 */
void hpcb_guards_step(const hpcb_guard_conf_t *conf, hpcb_guards_t *guards,
                      hpcb_guards_who_t who, const hpcb_harm_estimate_t *estimate,
                      uint64_t now_ns);

/* Return the time from which on evidence is collected. */
uint64_t hpcb_guards_from(const hpcb_guards_t *guards);

/* What this guest of the group may do; never REQUEUE. */
hpcb_guard_level_t hpcb_guard_level_of(const hpcb_guard_t *group, uint32_t job_id);

/* Whether guests of the group are to be requeued now, or halved, and whether this one
 * is among them. */
bool hpcb_guard_is_due(const hpcb_guard_t *group);
bool hpcb_guard_goes(const hpcb_guard_t *group, uint32_t job_id);

/* These are too many: try half of them. */
void hpcb_guard_halve(hpcb_guard_t *group, uint64_t now_ns);

/* Those of the group (one of guards) that go belong to left from now on, the others of
 * it are free.  any: somebody goes; else the group runs in a quarter of the time. */
void hpcb_guards_requeue(const hpcb_guard_conf_t *conf, hpcb_guards_t *guards,
                         hpcb_guard_t *group, bool any, uint64_t now_ns);

/* A comparison was made. */
void hpcb_guards_hear(hpcb_guards_t *guards, uint64_t now_ns);

/* Evidence is collected from now on, because other guests run than before or run
 * otherwise.  Groups that are not the same, because nobody of them is there any more,
 * are free: who comes is new. */
void hpcb_guards_anew(hpcb_guards_t *guards, hpcb_guards_who_t same, uint64_t now_ns);

typedef struct {
    double min_share;     /* a guest with less for patience_ns is stopped */
    uint64_t patience_ns; /* also what a guest that has just started gets */
    uint64_t starved_ns;  /* who lacks min_share * starved_ns of CPU time is requeued */
} hpcb_crumbs_conf_t;

typedef enum {
    HPCB_CRUMBS_RUN,
    HPCB_CRUMBS_STOP,
    HPCB_CRUMBS_REQUEUE,
} hpcb_crumbs_verdict_t;

/* Of one guest.  All zero: it starts now. */
typedef struct {
    bool begun;
    bool stopped;
    uint64_t since_ns; /* last seen with its share or idle */
    uint64_t seen_ns;  /* the last step */
    double lacks_ns;   /* CPU time: its minimum less what it used; never below 0 */
} hpcb_crumbs_t;

/*
 * What to do with a guest.  share: what it used since the step before; while it is
 * stopped, what its CPUs left idle.  wants: whether it was ready to run at all; one
 * that sleeps gets no crumbs.  Call it each second: a guest that is stopped waits for
 * the next call after its CPUs are left idle.
 */
hpcb_crumbs_verdict_t hpcb_crumbs_step(const hpcb_crumbs_conf_t *conf,
                                       hpcb_crumbs_t *guest, double share, bool wants,
                                       uint64_t now_ns);

#endif
