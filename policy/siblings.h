/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What to do about a guest that may run on the other hardware threads (siblings) of a
 * core where a primary runs.  The idle group keeps a guest off the primary's own thread
 * only: beside it, on the sibling, it takes up to half of the core.  Pure: topology and
 * places come in as sets of CPUs, a plan goes out.
 *
 * A CPU is *exposed* where a primary may run on another thread of its core.
 *
 * Order, and why:
 *  1. a cookie of core scheduling, always: the kernel itself then never runs the two
 *     side by side, whatever becomes of the rest, and the guest still has the whole
 *     core whenever the primary sleeps;
 *  2. keep off the exposed CPUs, as long as the guest has others, with a cookie too: it
 *     costs the primary nothing and the guest only what it should not use.  A thread
 *     that only the primary holds is not exposed: there the idle group decides, in the
 *     primary's favour.  The core scheduler does not know idle groups: each time when
 *     something else has run on the guest's thread for a moment, guest and primary
 *     start as equals, and the guest may have the core until the next tick (measured:
 *     3 % on a quiet machine, 16 % on a busy one);
 *  3. every CPU of the guest is exposed: the cookie has to do, or, without one,
 *     throttle it to its share.  A quota is counted
 *     over all CPUs of a group, which is why a guest that has both kinds of CPUs is
 *     rather kept off (it would spend a common quota where it likes);
 *  4. no quota can be set: keep to the first of the guest's threads of each core.  Weak
 *     (the primary may use the second), but it halves what is exposed.
 */
#ifndef HPCB_POLICY_SIBLINGS_H
#define HPCB_POLICY_SIBLINGS_H

#include <stdbool.h>
#include <stdint.h>
#include "policy/cpus.h"

/* Which core each CPU belongs to: named by the core's lowest CPU. */
typedef struct {
    bool smt; /* some core has more than one thread */
    hpcb_cpus_t online;
    uint16_t core[HPCB_CPUS_MAX]; /* of CPUs in online */
} hpcb_cores_t;

typedef struct {
    const hpcb_cores_t *cores;
    hpcb_cpus_t allowed; /* where the guest's task may run */
    hpcb_cpus_t held;    /* where primaries may run */
    bool cookie;         /* is wanted and can be had, each of the three */
    bool avoid;
    bool throttle;
    unsigned difference; /* of priorities, policy/share.h */
} hpcb_siblings_facts_t;

typedef enum {
    HPCB_SIBLINGS_NOTHING, /* no SMT, or nothing exposed now */
    HPCB_SIBLINGS_COOKIE,  /* exposed, and the cookie is all that is done about it */
    HPCB_SIBLINGS_AVOID,
    HPCB_SIBLINGS_THROTTLE,
    HPCB_SIBLINGS_HELPLESS /* exposed, and nothing can be done */
} hpcb_siblings_how_t;

typedef struct {
    bool cookie; /* whatever else */
    hpcb_siblings_how_t how;
    hpcb_cpus_t cpus; /* AVOID: those that are left to the guest */
    uint64_t share;   /* THROTTLE: of all exposed CPUs, millionths of one CPU */
} hpcb_siblings_plan_t;

/* The CPUs of allowed that are exposed. */
hpcb_cpus_t hpcb_siblings_exposed(const hpcb_cores_t *cores, const hpcb_cpus_t *allowed,
                                  const hpcb_cpus_t *held);

void hpcb_siblings_plan(const hpcb_siblings_facts_t *facts, hpcb_siblings_plan_t *plan);

#endif
