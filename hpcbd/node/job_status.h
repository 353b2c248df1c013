/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Status of the daemon and of jobs, as JSON text. */
#ifndef HPCB_HPCBD_NODE_JOB_STATUS_H
#define HPCB_HPCBD_NODE_JOB_STATUS_H

#include <stddef.h>
#include "hpcbd/node/registry.h"

/* Return the length written to text (HPCB_TELL_MAX bytes), or -1 if memory is short. */
int hpcbd_status_job(const hpcbd_job_t *job, char *text, size_t size);
/* next: first job of the next page; a number after the last job: there is none. */
int hpcbd_status_node(size_t next, char *text, size_t size);

#endif
