/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The child process that sends what the guard has seen to the collector, every few
 * seconds, and asks slurmctld to requeue the guests that the guard has ended.
 */
#ifndef HPCB_HPCBD_MEMORY_REPORT_H
#define HPCB_HPCBD_MEMORY_REPORT_H

#include "common/conf.h"
#include "common/live.h"

/* Read what the guard has seen last; the caller frees node->jobs.  0, or -1 if it has
 * not seen anything yet. */
int hpcbd_memory_read(const hpcb_conf_t *conf, hpcb_live_node_t *node);

/* Runs until it is ended.  conf: a hpcb_conf_t. */
int hpcbd_memory_report(void *conf);

#endif
