/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Reads how far a primary has got, from every source that it has on this node: CPU time
 * and run delay, instructions where PAPI counts them, iterations where its ranks have
 * pages.  policy/progress.h makes rates of two readings and says what is believed.
 */
#ifndef HPCB_HPCBD_HARM_PROGRESS_H
#define HPCB_HPCBD_HARM_PROGRESS_H

#include "hpcbd/node/registry.h"
#include "policy/progress.h"

typedef struct hpcbd_progress hpcbd_progress_t;

/* Of so many primaries sensors stay open between their experiments: to attach a counter
 * to each thread anew would take much of hpcbd's time.  Where there are more of them,
 * they have few threads each. */
#define HPCBD_PROGRESS_JOBS 8

/* node and state_dir must outlive the handle.  NULL with err if memory runs out. */
hpcbd_progress_t *hpcbd_progress_new(const hpcb_node_t *node, const char *state_dir,
                                     hpcb_error_t *err);
/* NULL is fine. */
void hpcbd_progress_free(hpcbd_progress_t *progress);

/* Readings are of this job from now on, with the tasks and pages that it has by now.
 * Only those between two calls are of one another.  0, or -1: it has no task here. */
int hpcbd_progress_begin(hpcbd_progress_t *progress, const hpcbd_job_t *job);

/* The job has gone, or has no experiments for now: close its sensors, if it has some.
 */
void hpcbd_progress_end(hpcbd_progress_t *progress, uint32_t job_id);

/* 0, or -1 with *at undefined: the job that was begun has no task here any more. */
int hpcbd_progress_read(hpcbd_progress_t *progress, hpcb_progress_at_t *at);

#endif
