/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Tables of events that sensor/papi.c tries in order, for its tests. */
#ifndef HPCB_SENSOR_PAPI_H
#define HPCB_SENSOR_PAPI_H

#define HPCB_PAPI_EVENTS 2

/* Each event counts as so many units: the bytes of a transfer, or 1.  A table ends with
 * a NULL name. */
typedef struct {
    const char *name;
    const char *event[HPCB_PAPI_EVENTS];
    unsigned units;
} hpcb_papi_row_t;

extern const hpcb_papi_row_t hpcb_papi_cores[];
extern const hpcb_papi_row_t hpcb_papi_instructions[];
extern const hpcb_papi_row_t hpcb_papi_sockets[];

#endif
