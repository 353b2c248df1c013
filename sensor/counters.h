/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Hardware counters of PAPI, in the four calls that sensor/papi.c needs.  PAPI also
 * lists events that the machine lacks; only opening them shows that.
 */
#ifndef HPCB_SENSOR_COUNTERS_H
#define HPCB_SENSOR_COUNTERS_H

#include <stddef.h>
#include <sys/types.h>
#include "common/error.h"

#define HPCB_COUNTERS_MAX 64 /* events in one set */

typedef struct {
    /* Return 0, or -1 with the reason.  May be called repeatedly. */
    int (*start)(hpcb_error_t *err);
    /* Open and start the n events of names on thread tid and its future children, or
     * with tid 0 on the machine (names then contain the CPU).  Return a handle >= 0, or
     * -1 with err (errno ESRCH: the thread has ended). */
    int (*open)(const char *const *names, size_t n, pid_t tid, hpcb_error_t *err);
    /* values has n entries. */
    int (*read)(int set, long long *values, hpcb_error_t *err);
    void (*close)(int set);
} hpcb_counters_t;

/* PAPI's counters, or none if it was built without PAPI. */
extern const hpcb_counters_t hpcb_counters_papi;

/* Use other counters from now on; NULL: PAPI's again.  For tests. */
void hpcb_counters_use(const hpcb_counters_t *counters);
const hpcb_counters_t *hpcb_counters(void);

#endif
