/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The collector's database of records as a history. */
#ifndef HPCB_SIM_RECORDS_H
#define HPCB_SIM_RECORDS_H

#include "sim/history.h"

/*
 * As hpcb_sim_read_swf, from the database of CollectorDir.  A row counts as a line. Who
 * was a guest is one again.  Of a job that was requeued the last run counts, as the
 * replay requeues by itself; runs that wait for a node's record are passed over.
 * cluster: whose jobs; NULL: of the only one that there is, -1 with err if there are
 * several.
 */
int hpcb_sim_read_records(const char *dir, const char *cluster,
                          hpcb_sim_history_t *history, hpcb_error_t *err);

#endif
