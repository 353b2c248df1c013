/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What `hpcbctl metrics` prints, made apart from it for tests. */
#ifndef HPCB_HPCBCTL_STATUS_METRICS_H
#define HPCB_HPCBCTL_STATUS_METRICS_H

#include <stdio.h>
#include <json-c/json.h>
#include "hpcbctl/status/totals.h"

typedef struct {
    json_object *status; /* hpcb_status_collect */
    unsigned problems;   /* that it found */
    hpcb_totals_t totals[HPCB_N_CLASSES];
    uint64_t spooled;       /* records that wait in SpoolDir */
    json_object *collector; /* CollectorDir/stats.json; NULL: no collector is here */
    json_object *memory;    /* what hpcbd says of the node's memory; NULL: nothing */
    json_object *crumbs;    /* and of guests that get next to nothing */
    json_object *harm;      /* and of guests that cost primaries too much */
    json_object *jobs;      /* and of each job */
} hpcb_metrics_t;

/* Add to totals what the jobs of status have used so far, at now_us (CLOCK_REALTIME).
 */
void hpcb_metrics_add_jobs(hpcb_metrics_t *metrics, uint64_t now_us);

/* In Prometheus' text format, version 0.0.4.  Errors are those of out. */
void hpcb_metrics_text(const hpcb_metrics_t *metrics, FILE *out);

#endif
