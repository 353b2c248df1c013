/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * CPU time of this node's guests during an experiment with a primary, an upper bound
 * for their cost.
 */
#ifndef HPCB_HPCBD_HARM_TAKEN_H
#define HPCB_HPCBD_HARM_TAKEN_H

#include <stdbool.h>
#include "hpcbd/harm/near.h"
#include "hpcbd/node/registry.h"

typedef struct hpcbd_taken hpcbd_taken_t;

/* node must outlive the handle.  Return NULL with err if memory is short. */
hpcbd_taken_t *hpcbd_taken_new(const hpcb_node_t *node, hpcb_error_t *err);
/* taken may be NULL. */
void hpcbd_taken_free(hpcbd_taken_t *taken);

/*
 * Select the guests of registry for the next readings.  Those that may be on the
 * primary's CPUs are the ones that share cores with it by Slurm's allocations, or all
 * of them if nothing keeps guests on their CPUs (ConstrainCores=no).  Keeps one file
 * per guest open until the next call.
 */
void hpcbd_taken_begin(hpcbd_taken_t *taken, const hpcbd_registry_t *registry,
                       hpcbd_near_t *near, const hpcbd_job_t *primary);

/* Get the CPU time in us of all guests, and of those that may be on the primary's
 * CPUs.  Only readings between two calls of hpcbd_taken_begin can be compared.  Return
 * false, with both undefined, if it is not known of one of them. */
bool hpcbd_taken_read(hpcbd_taken_t *taken, uint64_t *all_us, uint64_t *near_us);

#endif
