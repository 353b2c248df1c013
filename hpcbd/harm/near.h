/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Which guests share cores with which primary, by what Slurm has allocated to them
 * (hpcbd/node/cpus.h).
 */
#ifndef HPCB_HPCBD_HARM_NEAR_H
#define HPCB_HPCBD_HARM_NEAR_H

#include "hpcbd/node/registry.h"

typedef struct hpcbd_near hpcbd_near_t;

/* node and state_dir must outlive the handle.  NULL with err if memory runs out. */
hpcbd_near_t *hpcbd_near_new(const hpcb_node_t *node, const char *state_dir,
                             hpcb_error_t *err);
/* NULL is fine. */
void hpcbd_near_free(hpcbd_near_t *near);

/* Whether two jobs may use the same core.  True also if that is not known of one of
 * them.  Reads files of a job (hpcbd/node/cpus.h) every ten seconds at most; every
 * second while they tell nothing. */
bool hpcbd_near_shares(hpcbd_near_t *near, const hpcbd_job_t *a, const hpcbd_job_t *b);

/* Forget jobs that have gone. */
void hpcbd_near_clean(hpcbd_near_t *near, const hpcbd_registry_t *registry);

#endif
