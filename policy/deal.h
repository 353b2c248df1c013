/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Assignment of quanta to jobs of several nodes (policy/gang.h), computed by the
 * collector, which has reports of all nodes: MemBUS (Koukis and Koziris, "Memory and
 * Network Bandwidth Aware Scheduling of Multiprogrammed Workloads on Clusters of SMPs",
 * section 4) for whole cycles of quanta instead of votes in each quantum.  Pure: the
 * caller owns the memory.
 *
 * A job gets one slot of a cycle and runs in it on all its nodes.  The length of a
 * cycle is a power of two.  Each job has the shortest cycle that gives all jobs of its
 * CPUs a turn, on the node where most jobs share them.
 *
 * Every deal guarantees:
 *  - Two jobs that have a CPU of any node in common never own the same quantum.
 *  - A node that lies costs its own jobs turns, and costs jobs that share CPUs with
 *    these on other nodes at most three quarters of theirs: no cycle is more than four
 *    times as long as the jobs of its own CPUs need.
 *  - A job keeps its slot unless CPUs or cycles do not allow it, or a change pays.
 *  - The same input gives the same output, in any order of nodes and seats.
 *
 * Jobs fit together if, in each slot of a node, figure 3's distance (hpcb_fit_distance)
 * between the sum of their bandwidths and the node's capacity is small.  The paper
 * reduces the nodes' views of a job by a sum of votes (algorithm 1, line 10).  Here
 * squares of distances are summed over the nodes in the same way.  A mean of a job's
 * bandwidth would hide the one node on which it needs all, and a maximum would keep
 * others from its idle nodes.
 */
#ifndef HPCB_POLICY_DEAL_H
#define HPCB_POLICY_DEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/fitness.h"

/* Seconds between two reports of a node, between two deals, and from the computation of
 * a deal to its begin, which is two reports of each node.  A deal begins before the
 * next one is computed, also with the longest quantum. */
#define HPCB_DEAL_REPORT_SECONDS 5
#define HPCB_DEAL_SECONDS        40
#define HPCB_DEAL_AHEAD_SECONDS  24

#define HPCB_DEAL_CYCLE_MAX 64
#define HPCB_DEAL_JOBS_MAX  8192
#define HPCB_DEAL_NODES_MAX 8192
#define HPCB_DEAL_SEATS_MAX 32768
/* Maximum number of seats on one node. */
#define HPCB_DEAL_NODE_SEATS 64

/* A job on one of its nodes. */
typedef struct {
    uint32_t job;   /* index in jobs */
    hpcb_bw_t use;  /* expected bandwidth of all its processes in a quantum, bytes/s */
    bool mem_known; /* false: it counts as a job that uses its share */
    bool net_known;
    unsigned processors; /* at least 1 */
    unsigned depth; /* largest number of jobs on one of its CPUs, on any of its nodes */
    uint64_t meets; /* bit set of the node's seats, in their order, that have a CPU in
                       common with it */
} hpcb_deal_seat_t;

typedef struct {
    hpcb_bw_t capacity;    /* bytes/s; 0: not known, then use is spread evenly */
    unsigned processors;   /* of all its seats together */
    uint32_t first, count; /* range in seats */
} hpcb_deal_node_t;

/* Input: the cycle and slot that the job has by the last deal, or without one
 * (hpcb_gang_slot).  Output: those of this deal.  Cycle 0: none.  The job owns the
 * quanta whose number modulo cycle is slot. */
typedef struct {
    uint32_t job_id;
    unsigned cycle, slot;
} hpcb_deal_slot_t;

/* Internal state of the policy for one job. */
typedef struct {
    uint32_t first, count; /* range in by_job */
    unsigned cycle, slot;  /* of this attempt */
    unsigned longest;      /* longest cycle that it may get */
    unsigned free; /* number of slots that no job has with which it shares a CPU */
    bool placed, failed;      /* failed: no slot was left */
    bool stale;               /* it is in the deal's list of stale jobs */
    hpcb_fit_square_t weight; /* square of what it uses on all nodes */
    hpcb_fit_square_t ideal;  /* square of the capacity per processor of its nodes */
} hpcb_deal_state_t;

/* Jobs that run on a node in one quantum of the longest cycle. */
typedef struct {
    hpcb_bw_t use;
    uint64_t seats; /* bit set of the node's seats */
} hpcb_deal_column_t;

/* About 16 MB.  Only the used part is touched. */
typedef struct {
    size_t n_jobs, n_nodes, n_seats;
    hpcb_deal_slot_t jobs[HPCB_DEAL_JOBS_MAX]; /* sorted by job_id */
    hpcb_deal_node_t nodes[HPCB_DEAL_NODES_MAX];
    hpcb_deal_seat_t seats[HPCB_DEAL_SEATS_MAX]; /* node by node */
    /* Internal state of the policy. */
    unsigned columns; /* length of the longest cycle */
    hpcb_fit_square_t cost;
    hpcb_deal_state_t state[HPCB_DEAL_JOBS_MAX];
    hpcb_fit_left_t whole[HPCB_DEAL_NODES_MAX];
    uint32_t node_of[HPCB_DEAL_SEATS_MAX], by_job[HPCB_DEAL_SEATS_MAX];
    uint32_t stale[HPCB_DEAL_JOBS_MAX]; /* jobs whose free must be counted again */
    size_t n_stale;
    hpcb_deal_column_t column[HPCB_DEAL_NODES_MAX][HPCB_DEAL_CYCLE_MAX];
} hpcb_deal_t;

/*
 * Compute a deal: write cycle and slot of each entry of jobs.  A job without a seat, or
 * for which no slot is left, gets cycle 0.
 *
 * The next job is always the one with the fewest slots left; of several, the one with
 * the most bandwidth.  It gets the slot with the lowest cost.  If two slots are enough,
 * this finds them.  If no slot is left, the jobs concerned get cycles of up to four
 * times the length.  Then jobs move to other slots or exchange them if this lowers the
 * squares of distances by more than a sixteenth of the ideal's; smaller gains may be
 * noise.
 *
 * With J jobs, S seats and cycles of up to C: O(J * J + S * C * seats of a node).  The
 * largest deal takes some seconds, so call this from a process that may block.
 */
void hpcb_deal(hpcb_deal_t *deal);

#endif
