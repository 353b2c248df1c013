/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What `hpcbctl top` shows of a node's jobs, made apart from it for tests. */
#ifndef HPCB_HPCBCTL_STATUS_TOP_H
#define HPCB_HPCBCTL_STATUS_TOP_H

#include <stdio.h>
#include <json-c/json.h>

/*
 * Jobs of this node, the busiest first: before and now are what hpcb_status_jobs said,
 * seconds apart (above 0).  A job that was not there before has used nothing yet.  At
 * most rows jobs are shown, 0: all.
 */
void hpcb_top_text(json_object *before, json_object *now, double seconds, size_t rows,
                   FILE *out);

#endif
