/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Messages between a node and the collector about jobs of several nodes that take
 * turns, as frames of hpcbd/records/wire.h.  The node reports the traffic of these jobs
 * every HPCB_DEAL_REPORT_SECONDS, and receives their quanta (policy/deal.h):
 *
 *   report  {"version":1,"type":"gang","node":NAME,"mem":CAPACITY,"net":CAPACITY,
 *            "jobs":[{"job_id":I,"nodes":N,"guest":false,"quantum_us":U,"cpus":"0-3",
 *            "depth":D,"mem":B,"net":B},…],"nonce":N}
 *   deal    {"version":1,"type":"deal","until":T,"jobs":[{"job_id":I,"quantum_us":U,
 *            "from":Q,"cycle":C,"slot":S},…],"nonce":N}
 *
 * CAPACITY and B are bytes/s; B is null if it is not known.  D is the largest number of
 * jobs on one of the job's CPUs.  A deal is valid from quantum number Q until time T
 * (seconds since the epoch); of several for a job the one with the latest Q that has
 * begun.  Q is the version of a deal: two different deals have different Q.  Unknown
 * members are skipped.
 */
#ifndef HPCB_HPCBD_RECORDS_WIRE_GANG_H
#define HPCB_HPCBD_RECORDS_WIRE_GANG_H

#include "common/conf.h"
#include "common/error.h"
#include "hpcbd/records/wire.h"
#include "policy/cpus.h"
#include "policy/deal.h"

/* Maximum for guests and primaries together. */
#define HPCBD_WIDE_MAX  (2 * HPCB_DEAL_NODE_SEATS)
#define HPCBD_DEALT_MAX (2 * HPCBD_WIDE_MAX)

/* A job of several nodes on this one. */
typedef struct {
    uint32_t job_id, nodes;
    bool guest;
    uint64_t quantum_us;
    hpcb_bw_t use;
    bool mem_known, net_known;
    uint32_t depth;
    hpcb_cpus_t cpus; /* at least one */
} hpcbd_wide_job_t;

/* About 140 KB. */
typedef struct {
    char node[HPCB_NAME_MAX];
    hpcb_bw_t capacity; /* 0: not known */
    size_t n_jobs;
    hpcbd_wide_job_t jobs[HPCBD_WIDE_MAX]; /* at most HPCB_DEAL_NODE_SEATS of a kind */
} hpcbd_wide_t;

/* Return the report without a nonce; the caller frees it.  A job with a list of CPUs
 * longer than 1 KB is skipped.  NULL with err if memory is short. */
char *hpcbd_wide_print(const hpcbd_wide_t *turns, hpcb_error_t *err);

/* Recognize a report by its first bytes. */
bool hpcbd_wide_is_report(const char *text);

/* Parse a report and its nonce.  Return 0, or -1 with err (errno EINVAL) and turns
 * undefined. */
int hpcbd_wide_parse(const char *text, hpcbd_wide_t *turns,
                     char nonce[static HPCBD_NONCE_MAX], hpcb_error_t *err);

typedef struct {
    uint32_t job_id;
    uint64_t quantum_us, from;
    unsigned cycle, slot; /* as in hpcb_deal_slot_t, cycle at least 1 */
} hpcbd_dealt_job_t;

typedef struct {
    int64_t until;
    size_t n_jobs;
    hpcbd_dealt_job_t jobs[HPCBD_DEALT_MAX];
} hpcbd_dealt_t;

/* Return the deal as text; the caller frees it.  NULL with err if memory is short. */
char *hpcbd_dealt_print(const hpcbd_dealt_t *dealt, const char *nonce,
                        hpcb_error_t *err);

/* Parse a deal that answers the report with that nonce; NULL: any.  Return 0, or -1
 * with err (errno EINVAL) and dealt undefined. */
int hpcbd_dealt_parse(const char *text, const char *nonce, hpcbd_dealt_t *dealt,
                      hpcb_error_t *err);

#endif
