/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The child process that sends the guard's samples to the collector every few seconds,
 * and requests from slurmctld the requeue of guests that the guard has ended.
 */
#ifndef HPCB_HPCBD_MEMORY_REPORT_H
#define HPCB_HPCBD_MEMORY_REPORT_H

#include "common/conf.h"
#include "common/live.h"

/* Read the guard's last sample; the caller frees node->jobs.  Return 0, or -1 if there
 * is none yet. */
int hpcbd_memory_read(const hpcb_conf_t *conf, hpcb_live_node_t *node);

/* Run until it is killed.  conf: a hpcb_conf_t. */
int hpcbd_memory_report(void *conf);

#endif
