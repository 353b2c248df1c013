/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The dealer of the collector: receives reports of jobs of several nodes that take
 * turns, assigns their quanta (policy/deal.h), and answers the nodes
 * (hpcbd/records/wire_gang.h).  The collector runs it in a process of its own, because
 * a large deal takes seconds.  It stores nothing on disk: after a restart it answers
 * that there is no deal yet, and nodes follow the last deal until it expires or there
 * is a new one.
 *
 * A job is part of a deal if exactly as many nodes report it as it has, and all reports
 * agree.  Reports come from root, but a node may use the name of another one; the jobs
 * of that node then own quanta by their IDs.
 */
#ifndef HPCB_HPCBD_COLLECTOR_DEALER_H
#define HPCB_HPCBD_COLLECTOR_DEALER_H

#include "hpcbd/records/wire_gang.h"

/* A node without a report for so long has no jobs. */
#define HPCBD_TURNS_STALE_SECONDS 32

/* Seconds for which a deal is valid without repetition (up to HPCB_DEAL_AHEAD_SECONDS
 * less): all nodes that received it in the same period give it up in the same
 * quantum. */
#define HPCBD_DEAL_UNTIL_SECONDS 96

typedef struct hpcbd_dealer hpcbd_dealer_t;

/* Create a dealer.  The first deal is HPCB_DEAL_SECONDS after now_ns, when all nodes
 * have reported.  Return NULL if memory is short. */
hpcbd_dealer_t *hpcbd_dealer_new(int64_t now_ns);
/* dealer may be NULL. */
void hpcbd_dealer_free(hpcbd_dealer_t *dealer);

/* Process a report at now_ns of CLOCK_REALTIME.  Return the answer, which the caller
 * frees; NULL with err and errno: EPERM, it is no report; EAGAIN, there is no memory or
 * no space for another node. */
char *hpcbd_dealer_take(hpcbd_dealer_t *dealer, const char *text, int64_t now_ns,
                        hpcb_error_t *err);

#endif
