/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Idle time of CPUs, from /proc/stat: time in which nothing was ready to run, with or
 * without tasks that wait for storage. */
#ifndef HPCB_SENSOR_IDLE_H
#define HPCB_SENSOR_IDLE_H

#include <stddef.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "policy/cpus.h"

typedef struct {
    uint64_t time_us;                /* CLOCK_MONOTONIC; 0: not read yet */
    size_t count;                    /* all CPUs have lower numbers */
    uint64_t idle_us[HPCB_CPUS_MAX]; /* since boot; 0 for a CPU that is offline */
} hpcb_idle_t;

/* Read it.  Return 0, or -1 with errno and err and idle undefined.  The kernel counts
 * in ticks of 10 ms (USER_HZ). */
int hpcb_idle_read(const hpcb_node_t *node, hpcb_idle_t *idle, hpcb_error_t *err);

/* Return the idle part of the time of cpus between two readings, from 0 to 1; 0 if no
 * time has passed or there are no CPUs. */
double hpcb_idle_part(const hpcb_idle_t *before, const hpcb_idle_t *after,
                      const hpcb_cpus_t *cpus);

#endif
