/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Counters of the hardware, as PAPI offers them, in the four calls that sensor/papi.c
 * needs.  PAPI lists events that the machine has not, so that only opening them tells.
 */
#ifndef HPCB_SENSOR_COUNTERS_H
#define HPCB_SENSOR_COUNTERS_H

#include <stddef.h>
#include <sys/types.h>
#include "common/error.h"

#define HPCB_COUNTERS_MAX 64 /* events in one set */

typedef struct {
    /* 0, or -1 and why there are none.  Called again and again. */
    int (*start)(hpcb_error_t *err);
    /* Open and start the n events of names on thread tid and whatever it will create,
     * or with tid 0 on the machine (names then say which CPU).  A handle of 0 and
     * above, or -1 with err (errno ESRCH: the thread has gone). */
    int (*open)(const char *const *names, size_t n, pid_t tid, hpcb_error_t *err);
    /* values has room for n. */
    int (*read)(int set, long long *values, hpcb_error_t *err);
    void (*close)(int set);
} hpcb_counters_t;

/* Those of PAPI, or where this was built without it, none. */
extern const hpcb_counters_t hpcb_counters_papi;

/* Use other counters from now on, NULL for PAPI's again.  For tests. */
void hpcb_counters_use(const hpcb_counters_t *counters);
const hpcb_counters_t *hpcb_counters(void);

#endif
