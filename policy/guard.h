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

/* What guests next to a primary may do.  Each level allows less than the one before. */
typedef enum {
    HPCB_GUARD_FREE,
    HPCB_GUARD_SLICES,  /* unrestricted; the primary's tasks have long slices from here
                           on; used only on the way back */
    HPCB_GUARD_HALF,    /* run half of the time */
    HPCB_GUARD_QUARTER, /* run a quarter of the time */
    HPCB_GUARD_STOP,
    HPCB_GUARD_REQUEUE, /* stopped, to be requeued; the pair of programs becomes bad
                           company */
} hpcb_guard_level_t;

/* Guests at this level run in one of so many turns of equal length; 0: in none. */
unsigned hpcb_guard_turns(hpcb_guard_level_t level);

typedef struct {
    double max_slowdown; /* part of the primary's run time, > 0 */
    uint64_t look_ns;    /* evidence is collected for so long before the next step */
    uint64_t return_ns;  /* first pause before a step back */
    uint64_t longest_ns; /* longest pause */
    bool slices;         /* the kernel supports slices; if not, that level is skipped */
    /* No step goes beyond this level; FREE: no bound (policy/progress.h).  Guests that
     * are already beyond it return as usual. */
    hpcb_guard_level_t most;
} hpcb_guard_conf_t;

/* State of guests that are restricted together.  All zero: free, nothing is known. */
typedef struct {
    hpcb_guard_level_t level;
    uint64_t since_ns; /* of the last step */
    uint64_t from_ns;  /* evidence is collected from here on: at that step or later */
    uint64_t pause_ns; /* before the next step back; 0: the first one */
    bool tried_again;  /* after a stop, and not free since then */
    bool refused;      /* by the bound, at the last clear evidence */
    bool first_half;   /* reached together with the slices, which may be what helps */
    /* At REQUEUE: number of halvings of the guests to be requeued, which part of all
     * guests they are, and whether that part is known to be the cause. */
    unsigned halvings;
    uint32_t part;
    bool found;
} hpcb_guard_t;

/* Maximum number of guests of a group that are requeued together. */
#define HPCB_GUARD_GO_MAX 16

/*
 * Take a step if one is due, and return the level.  estimate: of comparisons since
 * from_ns (if that changes, the caller drops older ones); NULL: none yet.  The level
 * REQUEUE stays until the caller has requeued the guests.
 */
hpcb_guard_level_t hpcb_guard_step(const hpcb_guard_conf_t *conf, hpcb_guard_t *guard,
                                   const hpcb_harm_estimate_t *estimate,
                                   uint64_t now_ns);

/*
 * State of the guests of one primary.  All zero: all are free, nothing is known.  A
 * harmed primary mostly lacks CPU time, so guests on its cores are restricted first.
 * The other guests of the node share caches and memory with it; they are restricted if
 * the first cannot be restricted further and the primary is still harmed.  Guests that
 * were to be requeued and are still there are a third group, so that the others do not
 * suffer for them: they are stopped, tried again after the longest pause, and
 * restricted before all others.
 */
typedef struct {
    hpcb_guard_t near; /* guests that share cores with it */
    hpcb_guard_t far;  /* the other guests of the node */
    hpcb_guard_t left; /* guests to be requeued that are still there; FREE: they belong
                          to the others again */
    uint64_t heard_ns; /* last time when the primary was compared or could not be
                          compared because of us */
} hpcb_guards_t;

/* Groups that have members. */
typedef struct {
    bool near, far, left;
} hpcb_guards_who_t;

/*
 * Take a step with at most one of the groups, if one is due.  estimate: of comparisons
 * since hpcb_guards_from (if that changes, the caller drops older ones); NULL: none
 * yet.  who: groups that ran since then or would have without the guard.  A group at
 * REQUEUE stays there until hpcb_guards_requeue.  Only near is ever at SLICES, because
 * slices help on shared CPUs only.
 */
void hpcb_guards_step(const hpcb_guard_conf_t *conf, hpcb_guards_t *guards,
                      hpcb_guards_who_t who, const hpcb_harm_estimate_t *estimate,
                      uint64_t now_ns);

/* Return the time from which on evidence is collected. */
uint64_t hpcb_guards_from(const hpcb_guards_t *guards);

/* Return the level of this guest of the group; never REQUEUE. */
hpcb_guard_level_t hpcb_guard_level_of(const hpcb_guard_t *group, uint32_t job_id);

/* Return whether guests of the group must be requeued now, or halved; and whether this
 * guest is one of them. */
bool hpcb_guard_is_due(const hpcb_guard_t *group);
bool hpcb_guard_goes(const hpcb_guard_t *group, uint32_t job_id);

/* Halve the guests to be requeued, because they are too many. */
void hpcb_guard_halve(hpcb_guard_t *group, uint64_t now_ns);

/* Move the guests of the group (one of guards) that are requeued to left, and free the
 * others.  any: a guest is requeued; otherwise the group runs a quarter of the time. */
void hpcb_guards_requeue(const hpcb_guard_conf_t *conf, hpcb_guards_t *guards,
                         hpcb_guard_t *group, bool any, uint64_t now_ns);

/* Note that a comparison was made. */
void hpcb_guards_hear(hpcb_guards_t *guards, uint64_t now_ns);

/* Collect evidence anew, because guests have started, ended or changed.  Groups that
 * are not in same have lost all members and are free, because new members are not
 * guilty. */
void hpcb_guards_anew(hpcb_guards_t *guards, hpcb_guards_who_t same, uint64_t now_ns);

typedef struct {
    double min_share;     /* a guest with less for patience_ns is stopped */
    uint64_t patience_ns; /* also the time given to a guest that has just started */
    uint64_t starved_ns;  /* a guest that lacks min_share * starved_ns of CPU time is
                             requeued */
} hpcb_crumbs_conf_t;

typedef enum {
    HPCB_CRUMBS_RUN,
    HPCB_CRUMBS_STOP,
    HPCB_CRUMBS_REQUEUE,
} hpcb_crumbs_verdict_t;

/* State of one guest.  All zero: it starts now. */
typedef struct {
    bool begun;
    bool stopped;
    uint64_t since_ns; /* last time when it had its share or was idle */
    uint64_t seen_ns;  /* time of the last step */
    double lacks_ns;   /* CPU time: its minimum less what it used; never below 0 */
} hpcb_crumbs_t;

/*
 * Decide about a guest.  share: what it used since the last step, or, while it is
 * stopped, what its CPUs left idle.  wants: whether it was ready to run at all; a guest
 * that sleeps does not lack anything.  Call this each second, because a stopped guest
 * continues at the next call after its CPUs become idle.
 */
hpcb_crumbs_verdict_t hpcb_crumbs_step(const hpcb_crumbs_conf_t *conf,
                                       hpcb_crumbs_t *guest, double share, bool wants,
                                       uint64_t now_ns);

#endif
