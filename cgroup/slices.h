/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Long time slices for the tasks of a primary that guests harm (Linux 6.12).
 *
 * The scheduler forgets the lag of a guest when guest and primary sleep at the same
 * time.  At the end of the primary's next slice, after a few milliseconds of work, it
 * then prefers the guest for a tick.  A slice longer than the primary's work between
 * two waits does not end before it waits (doc/architecture.md, "Guests that sleep").
 *
 * Our slices have a unique length, so that they are found after a crash without stored
 * state, also in threads that have inherited them.
 */
#ifndef HPCB_CGROUP_SLICES_H
#define HPCB_CGROUP_SLICES_H

#include <stdint.h>
#include "cgroup/node.h"
#include "common/error.h"

/* ns, as texts (cgroup/task.h).  The kernel accepts 0.1 to 100 ms.  A primary's slice
 * is one nanosecond shorter, which identifies it. */
#define HPCB_SLICE_GUEST   "100000000"
#define HPCB_SLICE_PRIMARY "99999999"

/* Maximum number of threads and processes that a call visits. */
#define HPCB_SLICES_MAX 256

/* Return 0 if this node's kernel supports slices; -1 with err. */
int hpcb_slices_probe(const hpcb_node_t *node, hpcb_error_t *err);

/*
 * Set long slices for users' threads of the job in dir, Slurm's directory of it
 * (cgroup/steps.h), or restore them.  A slice that was set by anybody else stays.  A
 * call scans HPCB_SLICES_MAX threads, starting at *from, which is initially 0; *from is
 * then the position at which to continue, 0: all have been scanned.  Return the number
 * of changed threads, or -1 if dir cannot be read.
 */
int hpcb_slices_lengthen(const hpcb_node_t *node, const char *dir, uint64_t *from);
int hpcb_slices_restore(const hpcb_node_t *node, const char *dir, uint64_t *from);

/* After a crash: restore the slices of all jobs of this node.  Harmless if there is
 * nothing.  Return the number of changed threads, or -1 with err. */
int hpcb_slices_release(const hpcb_node_t *node, hpcb_error_t *err);

#endif
