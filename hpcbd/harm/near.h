/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Guests that share cores with a primary, by Slurm's allocations (hpcbd/node/cpus.h).
 */
#ifndef HPCB_HPCBD_HARM_NEAR_H
#define HPCB_HPCBD_HARM_NEAR_H

#include "hpcbd/node/registry.h"

typedef struct hpcbd_near hpcbd_near_t;

/* node and state_dir must outlive the handle.  Return NULL with err if memory is
 * short. */
hpcbd_near_t *hpcbd_near_new(const hpcb_node_t *node, const char *state_dir,
                             hpcb_error_t *err);
/* near may be NULL. */
void hpcbd_near_free(hpcbd_near_t *near);

/* Return whether two jobs may use the same core; true also if that is not known for one
 * of them.  Reads files of a job (hpcbd/node/cpus.h) every ten seconds at most, or
 * every second while they have no result. */
bool hpcbd_near_shares(hpcbd_near_t *near, const hpcbd_job_t *a, const hpcbd_job_t *b);

/* Drop jobs that have ended. */
void hpcbd_near_clean(hpcbd_near_t *near, const hpcbd_registry_t *registry);

#endif
