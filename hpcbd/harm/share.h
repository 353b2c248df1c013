/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Share that guests get of their CPUs between two rounds of readings.  The number of
 * CPUs is that of their processes' affinities: no guest can extend it beyond its
 * cpuset, and a guest that reduces it wants less.
 */
#ifndef HPCB_HPCBD_HARM_SHARE_H
#define HPCB_HPCBD_HARM_SHARE_H

#include <stdbool.h>
#include "hpcbd/node/registry.h"

/* Parts of the time of all of the guest's CPUs; used: of the time of its turns, if it
 * takes turns (hpcbd/gang/gang.h). */
typedef struct {
    double used;
    double idle;    /* not used by any task; 0 unless two rounds have read it */
    unsigned cpus;  /* number of these CPUs */
    bool waited;    /* a task waited for a CPU for at least half of its time */
    bool suspended; /* by Slurm, or not its turn; used and waited are void then */
} hpcbd_share_t;

typedef struct hpcbd_shares hpcbd_shares_t;

/* node must outlive the handle.  Return NULL with err if memory is short, or if the
 * node does not show how long tasks wait for a CPU. */
hpcbd_shares_t *hpcbd_shares_new(const hpcb_node_t *node, hpcb_error_t *err);
/* shares may be NULL. */
void hpcbd_shares_free(hpcbd_shares_t *shares);

/* Begin a round; idle: read idle time in it.  Guests that were not read in the previous
 * round are dropped. */
void hpcbd_shares_round(hpcbd_shares_t *shares, bool idle);

/* Read the share since the previous round.  Return 0, or -1 with share unchanged: this
 * is the guest's first reading, the guest has no process, or it cannot be read.  Files
 * that cannot be read are opened again by the next call. */
int hpcbd_shares_look(hpcbd_shares_t *shares, const hpcbd_job_t *guest,
                      hpcbd_share_t *share);

#endif
