/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Output of `hpcbctl metrics`, separate for tests. */
#ifndef HPCB_HPCBCTL_STATUS_METRICS_H
#define HPCB_HPCBCTL_STATUS_METRICS_H

#include <stdio.h>
#include <json-c/json.h>
#include "hpcbctl/status/totals.h"

typedef struct {
    json_object *status; /* hpcb_status_collect */
    unsigned problems;   /* its count of problems */
    hpcb_totals_t totals[HPCB_N_CLASSES];
    uint64_t spooled;       /* records waiting in SpoolDir */
    json_object *collector; /* CollectorDir/stats.json; NULL: no collector here */
    json_object *memory;    /* hpcbd's status of the node's memory; NULL: none */
    json_object *crumbs;    /* of starving guests */
    json_object *harm;      /* of harmful guests */
    json_object *jobs;      /* of each job */
} hpcb_metrics_t;

/* Add the usage of the jobs of status at now_us (CLOCK_REALTIME) to totals. */
void hpcb_metrics_add_jobs(hpcb_metrics_t *metrics, uint64_t now_us);

/* Print in Prometheus' text format, version 0.0.4.  Errors are those of out. */
void hpcb_metrics_text(const hpcb_metrics_t *metrics, FILE *out);

#endif
