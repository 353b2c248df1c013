/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * --bw-spread: fewer tasks a node for a job that would saturate the memory of its nodes
 * (paper 002, section 4: 2N×1 instead of N×2; there CG ran 91 % faster).  Pure.
 *
 * Tasks are taken to want the same of memory each.  Packed means: as many of them on a
 * node as Slurm would put there; what a node with so many of them moves is what
 * --bw-profile gives, or what earlier runs have shown.
 */
#ifndef HPCB_POLICY_SPREAD_H
#define HPCB_POLICY_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Percent of what a node can move that its tasks may use together: beyond, they wait
 * for each other. */
#define HPCB_SPREAD_FULL 90

typedef struct {
    uint32_t tasks;     /* of the job; 0: not known */
    uint32_t packed;    /* on a node, at most; 0: not known */
    uint32_t nodes_max; /* that the job may have */
    uint64_t demand;    /* bytes/s of a node with packed of them; 0: not known */
    /* The demand was measured.  On a full node it is what the node gave, not what the
     * tasks wanted: then there are at most half as many on a node. */
    bool measured;
    uint64_t capacity; /* bytes/s that a node can move; 0: not known */
    bool laid_out;     /* the job says itself how many tasks a node gets */
    bool vain;         /* it could have had more nodes before, and did not start */
} hpcb_spread_job_t;

typedef enum {
    HPCB_SPREAD_YES,
    HPCB_SPREAD_NO_DEMAND,   /* that is not known */
    HPCB_SPREAD_NO_CAPACITY, /* likewise */
    HPCB_SPREAD_FITS,        /* packed tasks do not fill a node */
    HPCB_SPREAD_NO_TASKS,    /* likewise: how many the job has, or a node can have */
    HPCB_SPREAD_ONE,         /* packed is one task, or the job has one */
    HPCB_SPREAD_NO_NODES,    /* the job may not have more nodes */
    HPCB_SPREAD_LAID_OUT,    /* as the job has it */
    HPCB_SPREAD_VAIN,        /* likewise */
} hpcb_spread_verdict_t;

typedef struct {
    hpcb_spread_verdict_t verdict;
    /* With HPCB_SPREAD_YES: at most so many on each of so many nodes. */
    uint32_t tasks, nodes;
} hpcb_spread_t;

/* What of a node tasks take. */
typedef struct {
    uint32_t cpus;             /* of the node that jobs may use */
    uint32_t threads;          /* of these, of one core; 0 as 1 */
    uint32_t cpus_per_task;    /* 0 as 1 */
    uint32_t threads_per_core; /* that the job uses; 0: all */
    uint32_t tasks_per_core;   /* that the job allows; 0: any */
    uint64_t memory;           /* of the node, MiB; 0: does not count */
    uint64_t memory_per_cpu;   /* MiB; 0: does not grow with tasks */
} hpcb_spread_room_t;

/* As many tasks as Slurm would put on such a node. */
uint32_t hpcb_spread_packed(const hpcb_spread_room_t *room);

/* The most tasks a node that do not fill it, at least one, on as many nodes as that
 * takes and the job may have; then as few on each as these nodes allow. */
hpcb_spread_t hpcb_spread_decide(const hpcb_spread_job_t *job);

/* Where so many nodes cannot be had: about twice as many tasks on each.  Returns false,
 * with spread untouched, if that is no better than packed. */
bool hpcb_spread_less(const hpcb_spread_job_t *job, hpcb_spread_t *spread);

/* What a node moves that has so many tasks of the job, bytes/s: demand where they are
 * packed or that is not known. */
uint64_t hpcb_spread_demand(const hpcb_spread_job_t *job, uint32_t tasks);

#endif
