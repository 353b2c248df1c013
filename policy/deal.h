/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Which quanta jobs of several nodes own (policy/gang.h), dealt by who sees all nodes:
 * MemBUS (Koukis and Koziris, "Memory and Network Bandwidth Aware Scheduling of
 * Multiprogrammed Workloads on Clusters of SMPs", section 4) for whole cycles of quanta
 * in the place of votes in each quantum.  Pure: the caller owns the memory.
 *
 * A job gets one slot of a cycle, and runs in it on all its nodes.  Cycles are powers
 * of two, each job has the shortest that gives all jobs of its CPUs a turn, on the node
 * where most share them.
 *
 * What holds for every deal:
 *  - no two jobs that have a CPU of some node in common own the same quantum;
 *  - a node that lies costs its own jobs turns, and jobs that share CPUs with these on
 *    other nodes three quarters of theirs at most: nobody's cycle is more than four
 *    times as long as the jobs of its own CPUs need;
 *  - who owns a slot keeps it unless CPUs or cycles do not allow it, or a change pays;
 *  - the same input gives the same output, whatever the order of nodes and seats.
 *
 * What fits together: in each slot of a node, figure 3's distance (hpcb_fit_distance)
 * of all that run in it from what the node has should be small.  The paper reduces the
 * nodes' views of a job by a sum, of votes (algorithm 1, line 10).  Likewise squares of
 * distances are added over the nodes here.  A mean of a job's bandwidth would hide the
 * one node on which it needs all, a maximum would keep others from its idle nodes.
 */
#ifndef HPCB_POLICY_DEAL_H
#define HPCB_POLICY_DEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/fitness.h"

/* Between two reports of a node, and between two deals; and so far ahead a deal begins,
 * that is after two reports of each node.  With the longest quantum added it begins
 * before the next one is made. */
#define HPCB_DEAL_REPORT_SECONDS 5
#define HPCB_DEAL_SECONDS        40
#define HPCB_DEAL_AHEAD_SECONDS  24

#define HPCB_DEAL_CYCLE_MAX 64
#define HPCB_DEAL_JOBS_MAX  8192
#define HPCB_DEAL_NODES_MAX 8192
#define HPCB_DEAL_SEATS_MAX 32768
/* Seats of one node. */
#define HPCB_DEAL_NODE_SEATS 64

/* A job on one of its nodes. */
typedef struct {
    uint32_t job;   /* its place in jobs */
    hpcb_bw_t use;  /* bytes/s that it will transfer in a quantum, all its processes */
    bool mem_known; /* else it counts as one that uses its share */
    bool net_known;
    unsigned processors; /* at least 1 */
    unsigned depth;      /* the most jobs that one of its CPUs has, of one node, too */
    uint64_t meets; /* the seats of the node, in their order, with a CPU of its own */
} hpcb_deal_seat_t;

typedef struct {
    hpcb_bw_t capacity; /* bytes/s; 0: not known, then the jobs' use is spread evenly */
    unsigned processors;   /* all that its seats have together */
    uint32_t first, count; /* in seats */
} hpcb_deal_node_t;

/* cycle and slot: what the job has had, by the deal before or without one
 * (hpcb_gang_slot), then what it gets by this one; cycle 0: nothing.  It owns the
 * quanta whose number is slot modulo cycle. */
typedef struct {
    uint32_t job_id;
    unsigned cycle, slot;
} hpcb_deal_slot_t;

/* The policy's, of a job. */
typedef struct {
    uint32_t first, count;    /* in by_job */
    unsigned cycle, slot;     /* in this attempt */
    unsigned longest;         /* cycle that it may get */
    unsigned free;            /* slots that nobody has who shares a CPU with it */
    bool placed, failed;      /* failed: there was none */
    bool stale;               /* it is in the deal's list of stale jobs */
    hpcb_fit_square_t weight; /* the square of what it uses, on all nodes */
    hpcb_fit_square_t ideal;  /* the square of its nodes' capacities a processor */
} hpcb_deal_state_t;

/* Who runs on a node in one quantum of the longest cycle. */
typedef struct {
    hpcb_bw_t use;
    uint64_t seats; /* of the node */
} hpcb_deal_column_t;

/* Some 16 MB, of which only what is used is touched. */
typedef struct {
    size_t n_jobs, n_nodes, n_seats;
    hpcb_deal_slot_t jobs[HPCB_DEAL_JOBS_MAX]; /* by rising job_id */
    hpcb_deal_node_t nodes[HPCB_DEAL_NODES_MAX];
    hpcb_deal_seat_t seats[HPCB_DEAL_SEATS_MAX]; /* node by node */
    /* What follows is the policy's. */
    unsigned columns; /* the longest cycle */
    hpcb_fit_square_t cost;
    hpcb_deal_state_t state[HPCB_DEAL_JOBS_MAX];
    hpcb_fit_left_t whole[HPCB_DEAL_NODES_MAX];
    uint32_t node_of[HPCB_DEAL_SEATS_MAX], by_job[HPCB_DEAL_SEATS_MAX];
    uint32_t stale[HPCB_DEAL_JOBS_MAX]; /* jobs whose free is to be counted anew */
    size_t n_stale;
    hpcb_deal_column_t column[HPCB_DEAL_NODES_MAX][HPCB_DEAL_CYCLE_MAX];
} hpcb_deal_t;

/*
 * Deal: write cycle and slot of each of jobs.  A job that finds no slot, or
 * has no seat, gets cycle 0.
 *
 * The job with the fewest slots left is next (of several, the one that transfers most),
 * and gets the slot that costs least; that finds two slots wherever two are enough.  If
 * that fails, those concerned get cycles of up to four times the length.  Then jobs
 * move to other slots, or trade them, if that lowers the squares of distances by more
 * than a sixteenth of the ideal's: less may be noise.
 *
 * With J jobs, S seats and cycles of up to C: O(J * J + S * C * seats of a node), which
 * is some seconds for a deal of the largest size: for a process that may block.
 */
void hpcb_deal(hpcb_deal_t *deal);

#endif
