/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How fast a primary goes on, between two readings.  Where nothing counts its work:
 * the part of the time that its tasks wanted CPUs for and had them.  That is a bound
 * from below of what guests cost: what they take of caches and memory is not in it.
 */
#ifndef HPCB_HPCBD_HARM_PROGRESS_H
#define HPCB_HPCBD_HARM_PROGRESS_H

#include <stdint.h>
#include "hpcbd/node/registry.h"

/* Microseconds, over all tasks of the job here. */
typedef struct {
    uint64_t time_us;  /* CLOCK_MONOTONIC */
    uint64_t cpu_us;   /* on a CPU */
    uint64_t delay_us; /* ready, and without one */
} hpcbd_progress_at_t;

typedef struct hpcbd_progress hpcbd_progress_t;

/* node must outlive the handle.  NULL with err if memory runs out, or on a node that
 * does not tell how long tasks wait for a CPU. */
hpcbd_progress_t *hpcbd_progress_new(const hpcb_node_t *node, hpcb_error_t *err);
/* NULL is fine. */
void hpcbd_progress_free(hpcbd_progress_t *progress);

/* 0, or -1 with *at undefined: the job has no task here. */
int hpcbd_progress_read(hpcbd_progress_t *progress, const hpcbd_job_t *job,
                        hpcbd_progress_at_t *at);

/* Above 0 and at most 1; 0: the job had next to nothing to do, or the readings are not
 * of one another. */
double hpcbd_progress_rate(const hpcbd_progress_at_t *from,
                           const hpcbd_progress_at_t *to);

#endif
