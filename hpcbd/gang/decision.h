/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The last elections, each with all its input, so that they can be replayed on
 * policy/gang.  They are stored as they were made, and printed on request, in parts
 * that fit into a packet:
 *
 *   {"gang":"guests","quantum":N,"window":2,"mem":CAPACITY,"net":CAPACITY,
 *    "from":0,"of":9,
 *    "jobs":[{"job":N,"of_job":N,"cpus":"0-3","paused":false,"wide":false,
 *             "cycle":N,"slot":N,"waited":N,"samples":[[CPU,NET],...],"elected":true},...]}
 *
 * jobs are in the order of the list; this part has those from number "from" of "of"
 * on.  samples, in bytes/s, are those of the window.  An axis that is not measured for
 * all of them has capacity 0 (hpcb_gang_capacity).  cpus is null if it would be longer
 * than HPCBD_DECISION_CPUS.
 */
#ifndef HPCB_HPCBD_GANG_DECISION_H
#define HPCB_HPCBD_GANG_DECISION_H

#include <json-c/json.h>

#include "policy/gang.h"

#define HPCBD_DECISIONS_MAX 32
#define HPCBD_DECISION_CPUS 2048

/* Maximum length of a part that has one job, with the largest window. */
#define HPCBD_DECISION_PART_MIN (HPCBD_DECISION_CPUS + 1536)

typedef struct hpcbd_decision hpcbd_decision_t;

/* All zero: none. */
typedef struct {
    hpcbd_decision_t *kept[HPCBD_DECISIONS_MAX];
    size_t next; /* index of the next one */
} hpcbd_decisions_t;

/* Store a decision before the list changes its order.  name must stay valid.  If memory
 * is short, the decision is not stored. */
void hpcbd_decisions_note(hpcbd_decisions_t *decisions, const char *name,
                          uint64_t quantum, const hpcb_gang_t *gang,
                          const hpcb_bw_t *capacity, const bool *run);

/* Return the number of jobs of all decisions, which are numbered from the oldest on. */
size_t hpcbd_decisions_jobs(const hpcbd_decisions_t *decisions);

/* Return the part of a decision that begins with job *at, with as many following jobs
 * as fit into size bytes of plain JSON, at least HPCBD_DECISION_PART_MIN; *at becomes
 * the next job.  The caller frees it.  Return NULL if there is no such job or memory is
 * short. */
json_object *hpcbd_decisions_part(const hpcbd_decisions_t *decisions, size_t *at,
                                  size_t size);

void hpcbd_decisions_free(hpcbd_decisions_t *decisions);

#endif
