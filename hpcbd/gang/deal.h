/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What the collector deals to jobs of several nodes (policy/deal.h), as far as this
 * node is concerned: StateDir/gang is what the daemon says of them, StateDir/deal what
 * the collector has answered; hpcbd/gang/ask.c carries both.  Files only: nothing here
 * waits for the network, and without a deal the jobs' ids decide (policy/gang.h).
 */
#ifndef HPCB_HPCBD_GANG_DEAL_H
#define HPCB_HPCBD_GANG_DEAL_H

#include "common/file.h"
#include "hpcbd/gang/roster.h"
#include "hpcbd/records/wire_gang.h"

#define HPCBD_TURNS_FILE "gang"
#define HPCBD_DEALT_FILE "deal"

/* All zero: nothing has been dealt. */
typedef struct {
    hpcbd_dealt_t dealt;
    hpcb_file_stamp_t stamp;
    int64_t reported_ns, looked_ns; /* CLOCK_MONOTONIC */
    bool trouble;                   /* the log has said so */
} hpcbd_deal_t;

/* Write the report every HPCB_DEAL_REPORT_SECONDS if there are jobs of several nodes,
 * and look once a second whether there is another answer.  now_ns: CLOCK_MONOTONIC. */
void hpcbd_deal_follow(hpcbd_deal_t *deal, const hpcbd_roster_t *roster,
                       const hpcb_bw_t *capacity, int64_t now_ns);

/* Which slots the jobs of set have in its quantum that begins. */
void hpcbd_deal_apply(const hpcbd_deal_t *deal, hpcbd_set_t *set);

/* As hpcbd_deal_follow without looking at the time; of tests, too.  Return false if
 * there is nobody to tell of. */
bool hpcbd_deal_fill(const hpcbd_roster_t *roster, hpcbd_wide_t *turns);

#endif
