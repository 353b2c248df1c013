/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Output of `hpcbctl top` for a node's jobs, separate for tests. */
#ifndef HPCB_HPCBCTL_STATUS_TOP_H
#define HPCB_HPCBCTL_STATUS_TOP_H

#include <stdio.h>
#include <json-c/json.h>

/*
 * Print jobs of this node, the busiest first: before and now are results of
 * hpcb_status_jobs, seconds apart (> 0).  A job that is not in before has used nothing
 * so far.  At most rows jobs are shown; 0: all.
 */
void hpcb_top_text(json_object *before, json_object *now, double seconds, size_t rows,
                   FILE *out);

#endif
