/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Live state in the collector (common/live.h): the last report of each node, written to
 * CollectorDir/live at most once a second.  Not durable, because reports are repeated.
 */
#ifndef HPCB_HPCBD_COLLECTOR_LIVE_REPORTS_H
#define HPCB_HPCBD_COLLECTOR_LIVE_REPORTS_H

#include "hpcbd/loop.h"

typedef struct hpcbd_live hpcbd_live_t;

/* Start with the content of the file in dir (CollectorDir, owned by the caller).
 * Return NULL with err on failure. */
hpcbd_live_t *hpcbd_live_open(hpcb_loop_t *loop, const char *dir, hpcb_error_t *err);

/* Write new reports and free everything. */
void hpcbd_live_close(hpcbd_live_t *live);

/* Store a report.  A time in the future counts as now.  Return 0, or -1 with errno:
 * EINVAL if it is no report, ENOSPC if there are too many nodes or jobs, ENOMEM. */
int hpcbd_live_take(hpcbd_live_t *live, const char *text);

/* Return the number of nodes that have reported. */
size_t hpcbd_live_count(const hpcbd_live_t *live);

#endif
