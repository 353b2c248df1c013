/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The collector's deal for jobs of several nodes (policy/deal.h) on this node:
 * StateDir/gang is the daemon's report, StateDir/deal the collector's answer;
 * hpcbd/gang/ask.c transfers both.  Only files are used here, so nothing waits for the
 * network.  Without a deal the jobs' IDs decide (policy/gang.h).
 */
#ifndef HPCB_HPCBD_GANG_DEAL_H
#define HPCB_HPCBD_GANG_DEAL_H

#include "common/file.h"
#include "hpcbd/gang/roster.h"
#include "hpcbd/records/wire_gang.h"

#define HPCBD_TURNS_FILE "gang"
#define HPCBD_DEALT_FILE "deal"

/* All zero: no deal. */
typedef struct {
    hpcbd_dealt_t dealt;
    hpcb_file_stamp_t stamp;
    int64_t reported_ns, looked_ns; /* CLOCK_MONOTONIC */
    bool trouble;                   /* logged */
} hpcbd_deal_t;

/* Write the report every HPCB_DEAL_REPORT_SECONDS if there are jobs of several nodes,
 * and check once a second for a new answer.  now_ns: CLOCK_MONOTONIC. */
void hpcbd_deal_follow(hpcbd_deal_t *deal, const hpcbd_roster_t *roster,
                       const hpcb_bw_t *capacity, int64_t now_ns);

/* Set the slots of the jobs of set in the quantum that begins. */
void hpcbd_deal_apply(const hpcbd_deal_t *deal, hpcbd_set_t *set);

/* Fill in a report, like hpcbd_deal_follow but at any time; also for tests.  Return
 * false if there is nothing to report. */
bool hpcbd_deal_fill(const hpcbd_roster_t *roster, hpcbd_wide_t *turns);

#endif
