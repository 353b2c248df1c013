/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* One job of this node that takes turns: where it runs, and what it moves. */
#ifndef HPCB_HPCBD_GANG_MEMBER_H
#define HPCB_HPCBD_GANG_MEMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "hpcbd/node/registry.h"
#include "hpcbd/node/sense.h"
#include "policy/gang.h"

typedef struct {
    hpcb_gang_job_t policy; /* first: the policy's list points here */
    uint64_t begin_us;      /* of the job: a requeued one is another */
    uid_t uid;
    bool held;              /* its owner, or root, has paused it */
    bool suspended;         /* Slurm has */
    bool counted;           /* its nodes are known */
    uint32_t nodes;         /* if they are */
    bool stopped;           /* for another job's turn */
    bool dirty;             /* it is to be looked at */
    int64_t looked_ns;      /* when it was last; 0: never */
    const hpcbd_job_t *job; /* of the registry, in this turn of the loop only */
    /* Of the quantum under way, if it runs (CLOCK_MONOTONIC): */
    int64_t since_ns;
    int64_t read_ns; /* when moved was read */
    hpcbd_moved_t moved;
    bool sensed; /* moved is known */
    /* Of all quanta that have ended: */
    uint64_t elected_ns;
} hpcbd_member_t;

/* NULL when memory runs out; free() ends it. */
hpcbd_member_t *hpcbd_member_new(const hpcbd_job_t *job);

/* False: nobody knows where it runs (yet). */
bool hpcbd_member_has_cpus(const hpcbd_member_t *member);

/* Find out which CPUs Slurm has allocated to it, whether Slurm has suspended it, and
 * from StateDir on how many nodes it runs: some 70 reads of files at most. */
void hpcbd_member_look(hpcbd_member_t *member, const hpcb_node_t *node,
                       const char *state_dir, const hpcbd_job_t *job);

/*
 * A quantum began at edge_ns, in which it runs or waits.  What it moved in the one
 * before, if it ran, is the policy's next sample.  Its sensors are read at now_ns, when
 * jobs have been stopped and set going already.
 */
void hpcbd_member_turn(hpcbd_member_t *member, int64_t edge_ns, int64_t now_ns,
                       bool runs);

/* For how long it was elected, the quantum under way included. */
uint64_t hpcbd_member_elected_us(const hpcbd_member_t *member, int64_t now_ns);

#endif
