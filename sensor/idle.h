/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Idle time of CPUs, from /proc/stat: nobody used the CPU, be it that nothing was ready
 * to run or that tasks waited for storage. */
#ifndef HPCB_SENSOR_IDLE_H
#define HPCB_SENSOR_IDLE_H

#include <stddef.h>
#include <stdint.h>
#include "cgroup/node.h"
#include "policy/cpus.h"

typedef struct {
    uint64_t time_us;                /* CLOCK_MONOTONIC; 0: not read yet */
    size_t count;                    /* no CPU has this number or a higher one */
    uint64_t idle_us[HPCB_CPUS_MAX]; /* since boot; 0 for a CPU that is offline */
} hpcb_idle_t;

/* 0, or -1 with errno and err; idle is then undefined.  The kernel counts in ticks of
 * 10 ms (USER_HZ). */
int hpcb_idle_read(const hpcb_node_t *node, hpcb_idle_t *idle, hpcb_error_t *err);

/* The idle part of the time of cpus between two readings, from 0 to 1; 0 if no time has
 * passed, or for no CPUs. */
double hpcb_idle_part(const hpcb_idle_t *before, const hpcb_idle_t *after,
                      const hpcb_cpus_t *cpus);

#endif
