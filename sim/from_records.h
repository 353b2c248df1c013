/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* History from the collector's database of records. */
#ifndef HPCB_SIM_RECORDS_H
#define HPCB_SIM_RECORDS_H

#include "sim/history.h"

/*
 * Do what hpcb_sim_read_swf does, from the database of CollectorDir.  A row counts as a
 * line.  Guests remain guests.  Of a requeued job the last run counts, because the
 * replay requeues by itself; runs that wait for a node's record are skipped.  cluster:
 * name of the cluster; NULL: the only one, -1 with err if there are several.
 */
int hpcb_sim_read_records(const char *dir, const char *cluster,
                          hpcb_sim_history_t *history, hpcb_error_t *err);

#endif
