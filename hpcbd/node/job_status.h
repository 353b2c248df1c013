/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the daemon says of itself and of a job, as JSON text. */
#ifndef HPCB_HPCBD_NODE_JOB_STATUS_H
#define HPCB_HPCBD_NODE_JOB_STATUS_H

#include <stddef.h>
#include "hpcbd/node/registry.h"

/* The length written to text (HPCB_TELL_MAX bytes), or -1 when memory runs out. */
int hpcbd_status_job(const hpcbd_job_t *job, char *text, size_t size);
/* next: where the next page of jobs begins; beyond the last job: there is none. */
int hpcbd_status_node(size_t next, char *text, size_t size);

#endif
