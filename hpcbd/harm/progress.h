/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Reads the progress of a primary from all sources on this node: CPU time and run
 * delay, instructions (PAPI) and iterations (status pages); and the CPU time of the
 * guests meanwhile.  policy/progress.h evaluates them.
 */
#ifndef HPCB_HPCBD_HARM_PROGRESS_H
#define HPCB_HPCBD_HARM_PROGRESS_H

#include "hpcbd/harm/near.h"
#include "hpcbd/node/registry.h"
#include "policy/progress.h"

typedef struct hpcbd_progress hpcbd_progress_t;

/* Number of primaries with open sensors between experiments, because attaching counters
 * to all threads takes long.  If there are more primaries on a node, each has few
 * threads. */
#define HPCBD_PROGRESS_JOBS 8

/* node and state_dir must outlive the handle.  Logs if the node has no run delay.
 * Return NULL with err if memory is short. */
hpcbd_progress_t *hpcbd_progress_new(const hpcb_node_t *node, const char *state_dir,
                                     hpcb_error_t *err);
/* progress may be NULL. */
void hpcbd_progress_free(hpcbd_progress_t *progress);

/* Select the job for the next readings, with its current tasks and pages and the guests
 * of registry.  Only readings between two calls for this job can be compared.  begun:
 * number of jobs begun last that are read together with it; others are closed if files
 * run short.  Return 0, or -1 if it has no task on this node. */
int hpcbd_progress_begin(hpcbd_progress_t *progress, const hpcbd_job_t *job,
                         size_t begun, const hpcbd_registry_t *registry,
                         hpcbd_near_t *near);

/* Select a job that was begun before others.  Return -1 if too many have been begun
 * since then. */
int hpcbd_progress_select(hpcbd_progress_t *progress, uint32_t job_id);

/* Close the sensors of the job, if it has any. */
void hpcbd_progress_end(hpcbd_progress_t *progress, uint32_t job_id);

/* Read the selected job.  Return 0, or -1 with *at undefined if it has no task left. */
int hpcbd_progress_read(hpcbd_progress_t *progress, hpcb_progress_at_t *at);

#endif
