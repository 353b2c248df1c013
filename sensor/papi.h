/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The tables of events that sensor/papi.c goes down, for its tests. */
#ifndef HPCB_SENSOR_PAPI_H
#define HPCB_SENSOR_PAPI_H

#define HPCB_PAPI_EVENTS 2

/* Each event is one transfer of bytes.  A table ends with a name that is NULL. */
typedef struct {
    const char *name;
    const char *event[HPCB_PAPI_EVENTS];
    unsigned bytes;
} hpcb_papi_row_t;

extern const hpcb_papi_row_t hpcb_papi_cores[];
extern const hpcb_papi_row_t hpcb_papi_sockets[];

#endif
