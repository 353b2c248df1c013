/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Treatment of a guest that may run on the other hardware threads (siblings) of a core
 * where a primary runs.  The idle group keeps a guest off the primary's own thread
 * only; on the sibling it takes up to half of the core.  Pure: topology and places are
 * sets of CPUs, the result is a plan.
 *
 * A CPU is *exposed* if a primary may run on another thread of its core.
 *
 * In this order:
 *  1. Always set a cookie of core scheduling.  Then the kernel itself never runs the
 *     two at the same time on one core, whatever becomes of the rest, and the guest has
 *     the whole core when the primary sleeps.
 *  2. Keep the guest off the exposed CPUs if it has others, also with a cookie.  This
 *     costs the primary nothing and the guest only CPUs that it should not use.  A
 *     thread that is allocated to primaries but not exposed is fine, because the idle
 *     group decides there in favour of the primary.  The core scheduler does not know
 *     idle groups: after anything else has run on the guest's thread for a moment,
 *     guest and primary start as equals, and the guest may have the core until the next
 *     tick (measured: 3 % on a quiet machine, 16 % on a busy one).
 *  3. If all CPUs of the guest are exposed, the cookie must do.  Without one, throttle
 *     the guest to its share.  A quota counts over all CPUs of a group, so a guest with
 *     both kinds of CPUs is kept off instead; it would spend a common quota where it
 *     likes.
 *  4. If no quota can be set, use only the first of the guest's threads of each core.
 *     This is weak (the primary may use the second) but halves the exposure.
 */
#ifndef HPCB_POLICY_SIBLINGS_H
#define HPCB_POLICY_SIBLINGS_H

#include <stdbool.h>
#include <stdint.h>
#include "policy/cpus.h"

/* Core of each CPU, named by the lowest CPU of the core. */
typedef struct {
    bool smt; /* some core has more than one thread */
    hpcb_cpus_t online;
    uint16_t core[HPCB_CPUS_MAX]; /* of CPUs in online */
} hpcb_cores_t;

typedef struct {
    const hpcb_cores_t *cores;
    hpcb_cpus_t allowed; /* where the guest's task may run */
    hpcb_cpus_t held;    /* where primaries may run */
    bool cookie;         /* requested and available, each of the three */
    bool avoid;
    bool throttle;
    unsigned difference; /* of priorities, policy/share.h */
} hpcb_siblings_facts_t;

typedef enum {
    HPCB_SIBLINGS_NOTHING, /* no SMT, or nothing exposed now */
    HPCB_SIBLINGS_COOKIE,  /* exposed, and the cookie is the only measure */
    HPCB_SIBLINGS_AVOID,
    HPCB_SIBLINGS_THROTTLE,
    HPCB_SIBLINGS_HELPLESS /* exposed, and no measure is available */
} hpcb_siblings_how_t;

typedef struct {
    bool cookie; /* in addition to how */
    hpcb_siblings_how_t how;
    hpcb_cpus_t cpus; /* AVOID: CPUs left to the guest */
    uint64_t share;   /* THROTTLE: of all exposed CPUs, millionths of one CPU */
} hpcb_siblings_plan_t;

/* Return the CPUs of allowed that are exposed. */
hpcb_cpus_t hpcb_siblings_exposed(const hpcb_cores_t *cores, const hpcb_cpus_t *allowed,
                                  const hpcb_cpus_t *held);

void hpcb_siblings_plan(const hpcb_siblings_facts_t *facts, hpcb_siblings_plan_t *plan);

#endif
