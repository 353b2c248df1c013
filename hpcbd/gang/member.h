/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A job of this node that takes turns: its CPUs and its traffic. */
#ifndef HPCB_HPCBD_GANG_MEMBER_H
#define HPCB_HPCBD_GANG_MEMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "hpcbd/node/registry.h"
#include "hpcbd/node/sense.h"
#include "policy/gang.h"

typedef struct {
    hpcb_gang_job_t policy; /* must be first: the policy's list points here */
    uint64_t begin_us;      /* of the job, to recognize a requeued one */
    uid_t uid;
    bool held;              /* paused by its owner or root */
    bool suspended;         /* by Slurm */
    bool counted;           /* nodes is known */
    uint32_t nodes;         /* valid if counted */
    bool stopped;           /* for another job's turn */
    bool dirty;             /* must be scanned */
    int64_t looked_ns;      /* time of the last scan; 0: never */
    const hpcbd_job_t *job; /* entry of the registry, valid in this iteration only */
    /* Of the present quantum, if it runs (CLOCK_MONOTONIC): */
    int64_t since_ns;
    int64_t read_ns; /* time of moved */
    hpcbd_moved_t moved;
    bool sensed; /* moved is known */
    /* Of all completed quanta: */
    uint64_t elected_ns;
} hpcbd_member_t;

/* Return NULL if memory is short; free with free(). */
hpcbd_member_t *hpcbd_member_new(const hpcbd_job_t *job);

/* Return false if its CPUs are not known (yet). */
bool hpcbd_member_has_cpus(const hpcbd_member_t *member);

/* Read its allocated CPUs, whether Slurm has suspended it, and its number of nodes from
 * StateDir: about 70 reads of files at most. */
void hpcbd_member_look(hpcbd_member_t *member, const hpcb_node_t *node,
                       const char *state_dir, const hpcbd_job_t *job);

/*
 * Note that a quantum began at edge_ns, in which it runs or waits.  The traffic in the
 * previous quantum, if it ran, becomes the policy's next sample.  Its sensors are read
 * at now_ns, after jobs have been stopped and continued.
 */
void hpcbd_member_turn(hpcbd_member_t *member, int64_t edge_ns, int64_t now_ns,
                       bool runs);

/* Return for how long it was elected, including the present quantum. */
uint64_t hpcbd_member_elected_us(const hpcbd_member_t *member, int64_t now_ns);

#endif
