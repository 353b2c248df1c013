/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Records of nodes for the tests of the collector. */
#ifndef HPCB_TESTS_HPCBD_COLLECTOR_SAMPLE_RECORDS_H
#define HPCB_TESTS_HPCBD_COLLECTOR_SAMPLE_RECORDS_H

#include "common/record_json.h"
#include "common/record.h"

/* What node number node (0, 1, …) of a job of that many nodes says: it took one second
 * of CPU time.  The caller frees it.  No assertion: for processes that are killed, too.
 */
char *collector_record(uint32_t job_id, uint32_t restart, unsigned node,
                       unsigned nodes);

/* What CollectorDir's database says of runs that are published. */
typedef struct {
    unsigned runs, complete, nodes;
    double cpu_seconds;
} collector_totals_t;

void collector_totals(const char *dir, collector_totals_t *totals);

#endif
