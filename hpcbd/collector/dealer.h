/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The collector's part of turns: hears of jobs of several nodes that take turns, deals
 * which quanta they own (policy/deal.h), and tells the nodes
 * (hpcbd/records/wire_gang.h). The collector runs it in a process of its own: a large
 * deal takes seconds.  Nothing is on disk: after a restart it says that nothing has
 * been dealt yet, and nodes follow the last deal until it ends or there is a new one.
 *
 * A job is dealt for if exactly as many nodes report it as it has, and all of them say
 * the same of it.  Reports are root's, but a node may give the name of another one:
 * then jobs of that one own quanta by their ids.
 */
#ifndef HPCB_HPCBD_COLLECTOR_DEALER_H
#define HPCB_HPCBD_COLLECTOR_DEALER_H

#include "hpcbd/records/wire_gang.h"

/* A node that is silent for so long has no jobs. */
#define HPCBD_TURNS_STALE_SECONDS 32

/* So many seconds a deal counts that nobody repeats, or up to HPCB_DEAL_AHEAD_SECONDS
 * less: all nodes that hear of it in the same while give it up in the same quantum. */
#define HPCBD_DEAL_UNTIL_SECONDS 96

typedef struct hpcbd_dealer hpcbd_dealer_t;

/* The first deal is HPCB_DEAL_SECONDS after now_ns, when all nodes have reported.
 * NULL when memory runs out. */
hpcbd_dealer_t *hpcbd_dealer_new(int64_t now_ns);
/* NULL is fine. */
void hpcbd_dealer_free(hpcbd_dealer_t *dealer);

/* Take a report of text at now_ns of CLOCK_REALTIME; the answer, which the caller
 * frees.  NULL with err and errno: EPERM, it is no report; EAGAIN, there is no memory
 * or no room for another node. */
char *hpcbd_dealer_take(hpcbd_dealer_t *dealer, const char *text, int64_t now_ns,
                        hpcb_error_t *err);

#endif
