/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Long time slices for the tasks of a primary that guests harm (Linux 6.12).
 *
 * The scheduler forgets what a guest owes when guest and primary sleep at once.  At the
 * end of the primary's next slice, a few milliseconds of work, it then prefers the
 * guest for a tick.  A slice that is longer than what the primary works between two
 * waits does not end before it waits (doc/architecture.md, "Guests that sleep").
 *
 * A slice of ours has a length of its own, so that it is found after a crash without
 * any note, also on threads that have inherited it.
 */
#ifndef HPCB_CGROUP_SLICES_H
#define HPCB_CGROUP_SLICES_H

#include <stddef.h>
#include "cgroup/node.h"
#include "common/error.h"

/* ns, as texts (cgroup/task.h).  The kernel takes 0.1 to 100 ms; a primary's is a
 * nanosecond less, and known by that. */
#define HPCB_SLICE_GUEST   "100000000"
#define HPCB_SLICE_PRIMARY "99999999"

/* Threads that one call looks at, of a process too: those beyond have the kernel's. */
#define HPCB_SLICES_MAX 256

/* 0 if this node's kernel takes slices; -1 with err. */
int hpcb_slices_probe(const hpcb_node_t *node, hpcb_error_t *err);

/*
 * Give long slices to users' threads of the job in dir, Slurm's directory of it
 * (cgroup/steps.h), or take them back.  A thread with a slice that somebody has chosen
 * keeps that.  A call looks at HPCB_SLICES_MAX threads, from where *from says, which is
 * 0 at first; *from then says where to go on, 0: all have been looked at.  The number
 * of threads that have changed, or -1 if dir cannot be read.
 */
int hpcb_slices_lengthen(const hpcb_node_t *node, const char *dir, size_t *from);
int hpcb_slices_restore(const hpcb_node_t *node, const char *dir, size_t *from);

/* After a crash: take them back from all jobs of this node.  Harmless if there is
 * nothing.  The number of threads that have changed, or -1 with err. */
int hpcb_slices_release(const hpcb_node_t *node, hpcb_error_t *err);

#endif
