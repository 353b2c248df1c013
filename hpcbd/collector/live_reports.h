/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The collector's part of live state (common/live.h): the last report of each node,
 * written to CollectorDir/live at most once a second.  Not durable: after a crash of
 * the machine, reports come again.
 */
#ifndef HPCB_HPCBD_COLLECTOR_LIVE_REPORTS_H
#define HPCB_HPCBD_COLLECTOR_LIVE_REPORTS_H

#include "hpcbd/loop.h"

typedef struct hpcbd_live hpcbd_live_t;

/* Begin with what the file in dir (CollectorDir, the caller's) has.  NULL with err. */
hpcbd_live_t *hpcbd_live_open(hpcb_loop_t *loop, const char *dir, hpcb_error_t *err);

/* Write what is new, and release all. */
void hpcbd_live_close(hpcbd_live_t *live);

/* Take a report of text.  A time in the future counts as now.  0, or -1 with errno:
 * EINVAL for what is no report, ENOSPC where there are too many nodes or jobs,
 * ENOMEM. */
int hpcbd_live_take(hpcbd_live_t *live, const char *text);

/* Nodes that have reported. */
size_t hpcbd_live_count(const hpcbd_live_t *live);

#endif
