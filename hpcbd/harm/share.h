/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What guests get of the CPUs on which they may run, from one round of readings to the
 * next.  How many CPUs that are comes from the affinity of their processes, which no
 * guest can make wider than its cpuset; one that makes it narrower asks for less.
 */
#ifndef HPCB_HPCBD_HARM_SHARE_H
#define HPCB_HPCBD_HARM_SHARE_H

#include <stdbool.h>
#include "hpcbd/node/registry.h"

/* Parts of the time of all of the guest's CPUs; used: of the time that was its turn, if
 * it takes turns (hpcbd/gang/gang.h). */
typedef struct {
    double used;
    double idle;    /* nobody used it; 0 unless two rounds have read it */
    unsigned cpus;  /* how many they are */
    bool waited;    /* for half of its time or longer some task waited for a CPU */
    bool suspended; /* by Slurm, or it was not its turn; then used and waited say
                       nothing */
} hpcbd_share_t;

typedef struct hpcbd_shares hpcbd_shares_t;

/* node must outlive the handle.  NULL with err if memory runs out, or on a node that
 * does not tell how long tasks wait for a CPU. */
hpcbd_shares_t *hpcbd_shares_new(const hpcb_node_t *node, hpcb_error_t *err);
/* NULL is fine. */
void hpcbd_shares_free(hpcbd_shares_t *shares);

/* A round begins; idle: read idle time in it.  A guest that the round before has not
 * looked at is forgotten. */
void hpcbd_shares_round(hpcbd_shares_t *shares, bool idle);

/* Since the round before.  0, or -1 with share untouched: this is the first time, the
 * guest has no process, or it cannot be read.  What cannot be read is opened anew by
 * the next call. */
int hpcbd_shares_look(hpcbd_shares_t *shares, const hpcbd_job_t *guest,
                      hpcbd_share_t *share);

#endif
