/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The last decisions about who runs, each with all that it rested on, so that they can
 * be replayed on policy/gang:
 *
 *   {"gang":"guests","quantum":N,"window":2,"mem":CAPACITY,"net":CAPACITY,
 *    "jobs":[{"job":N,"of_job":N,"cpus":"0-3","paused":false,"wide":false,
 *             "cycle":N,"slot":N,"waited":N,"samples":[[CPU,NET],...],"elected":true},...]}
 *
 * jobs are in the order of the list; samples, in bytes/s, are those of the window; an
 * axis that is not measured for all of them has capacity 0 (hpcb_gang_capacity).  A
 * decision about more jobs than fit into a packet has "jobs" null.
 */
#ifndef HPCB_HPCBD_GANG_DECISION_H
#define HPCB_HPCBD_GANG_DECISION_H

#include "policy/gang.h"

#define HPCBD_DECISIONS_MAX 32

/* All zero: none. */
typedef struct {
    char *lines[HPCBD_DECISIONS_MAX];
    size_t next; /* where the next one goes */
} hpcbd_decisions_t;

/* Before the list changes its order. */
void hpcbd_decisions_note(hpcbd_decisions_t *decisions, const char *name,
                          uint64_t quantum, const hpcb_gang_t *gang,
                          const hpcb_bw_t *capacity, const bool *run);

/* The oldest is 0; NULL: there are not so many.  Valid until the next one is noted. */
const char *hpcbd_decisions_get(const hpcbd_decisions_t *decisions, size_t i);

void hpcbd_decisions_free(hpcbd_decisions_t *decisions);

#endif
