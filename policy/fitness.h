/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Who should share a node: MemBUS (Koukis and Koziris, "Memory and Network Bandwidth
 * Aware Scheduling of Multiprogrammed Workloads on Clusters of SMPs", section 4) as
 * pure functions of integers.  Jobs whose demands add up to what the node has, in the
 * plane of memory and network bandwidth, go together; the rest stay apart.
 *
 * Two forms:
 *  - for time sharing on one node, as in the paper: the distance of figure 3, the
 *    selection for one quantum (algorithm 2) and the reduction of the nodes' votes
 *    (second phase of algorithm 1).  policy/gang takes prediction and
 *    distance from here; only tests and the simulator run the rest;
 *  - for placement: the same distance asked the other way round, "which node for this
 *    guest" (hpcb_fit_place).
 *
 * Bandwidths are bytes/s per node.  "mem" is all that a job moves over the memory bus:
 * what its processors read and write, and what the network card moves for it (section
 * 4: BW^M = BW^C + BW^N).  Values above HPCB_FIT_BW_MAX count as that.  The same input
 * gives the same output on every machine: quotients are rounded down to whole bytes/s,
 * and of equals the first in the list wins.
 */
#ifndef HPCB_POLICY_FITNESS_H
#define HPCB_POLICY_FITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "policy/company.h"

#define HPCB_FIT_BW_MAX (UINT64_C(1) << 60)

typedef struct {
    uint64_t mem, net; /* bytes/s per node */
} hpcb_bw_t;

/* ---- Placement ---- */

/* One guest, as it would be on one node. */
typedef struct {
    hpcb_bw_t use;             /* what it needs on each of its nodes */
    bool mem_known, net_known; /* use.mem, use.net are figures, not gaps */
    bool cpu_known;
    uint64_t cpu;        /* what it needs of a node's CPUs, millionths of one CPU */
    uint64_t program;    /* hpcb_fit_program, 0 = unknown; for the caller, who
                            finds out hpcb_fit_node_t.same_program with it */
    unsigned processors; /* it takes on each node; 0: all that are left */
} hpcb_fit_guest_t;

/* One candidate node, without that guest. */
typedef struct {
    hpcb_bw_t capacity;                          /* 0 = unknown */
    hpcb_bw_t used_by_primaries, used_by_guests; /* sums of the known profiles */
    bool unknown_primary, unknown_guest; /* somebody there has no (whole) profile */
    bool same_program;                   /* a copy of the guest's program is there */
    hpcb_company_verdict_t company;      /* the worst of the primaries there */
    unsigned processors_left;            /* not held by guests */
    /* Millionths of a CPU: what the node has (0: the axis does not count), what
     * primaries compute on, what guests do.  A job of which nobody knows better
     * computes on all of its CPUs. */
    uint64_t cpus, cpus_by_primaries, cpus_by_guests;
    /* By a probe (policy/saturation.h), whoever it is that saturates memory: */
    bool mem_saturated;
    uint32_t mem_lost; /* thousandths, at most 1000, of what one CPU reads on the idle
                          node that it cannot read now; 0: nothing, or unknown */
    hpcb_bw_t scale; /* for an axis whose capacity is unknown: the most that is used on
                        any of the nodes that are compared; the same for all of them */
} hpcb_fit_node_t;

/*
 * How well a guest fits a node, best first.  The distance is figure 3's between what
 * the guest needs and its share, by processors, of what is left on the node, each axis
 * as a part of the node's capacity.  An axis whose demand by the guest is unknown does
 * not count.  The third axis are the CPUs: what primaries leave of theirs while they
 * wait is what a guest lives on ("Memory and Network Bandwidth Aware Scheduling" has
 * two axes; the third is the premise of stealing CPU time, section 2 of the paper on
 * that).  Nobody is refused for CPU time.
 *
 * Where a probe says that memory is short, nodes come later for a guest that needs it
 * (more than the HPCB_FIT_TRIFLE-th part of the capacity, anything at all if that is
 * unknown) and for one of which that is unknown: the least saturated node first, and a
 * saturated one as POOR.  It refuses nobody: it sees what is, not what is to come.
 *
 * If it is unknown how much CPU time the guest needs, nodes that leave more of it come
 * first, inside of their class, as if it computed on all of its CPUs.
 *
 * If the capacity of a node is unknown, the nodes that use less come first: inside of
 * their class, the distance grows with what is used there, as a part of scale, and with
 * what the guest would add.
 */
enum {
    HPCB_FIT_EXCELLENT, /* distance below 1/8 */
    HPCB_FIT_GOOD,      /* below 1/4 */
    HPCB_FIT_FAIR,      /* farther: mostly because the node would stay underused */
    HPCB_FIT_UNKNOWN,   /* no axis of known capacity counts, or somebody on the node is
                           unknown */
    HPCB_FIT_POOR,      /* takes more than its share, by 1/4 of the capacity and more,
                           beside others; or an unknown guest where nothing is left */
    HPCB_FIT_TWIN,      /* a copy of the same program is there: it wants the same at the
                           same time (section 3: two instances side by side lost most) */
    HPCB_FIT_COMPANY,   /* bad company is there (policy/company.h), but some time ago */
    HPCB_FIT_CLASSES,
    HPCB_FIT_REFUSED = 255
};

/*
 * The class (above) of node for guest.  HPCB_FIT_REFUSED where memory or network are
 * known and primaries, guests and this guest together would need more of one than the
 * node has.  Guests that need, all together, at most 1/32 of it (HPCB_FIT_TRIFLE) are
 * not refused: beside a primary that saturates the node alone they are the best company
 * there is (section 6: membench-min).  A guest that needs more than a node has counts
 * as one that needs all of it: it runs there alone.  HPCB_FIT_REFUSED also if the guest
 * is to be kept apart from bad company there.
 */
int hpcb_fit_place(const hpcb_fit_node_t *node, const hpcb_fit_guest_t *guest);

#define HPCB_FIT_TRIFLE 32

/*
 * The same with the order inside a class: class << HPCB_FIT_SCORE_SHIFT, plus the
 * distance in 65536ths (at most 2^17 - 1).
 * HPCB_FIT_SCORE_BITS bits; HPCB_FIT_SCORE_REFUSED where hpcb_fit_place says
 * HPCB_FIT_REFUSED.
 */
uint32_t hpcb_fit_score(const hpcb_fit_node_t *node, const hpcb_fit_guest_t *guest);

#define HPCB_FIT_SCORE_SHIFT   17
#define HPCB_FIT_SCORE_BITS    20
#define HPCB_FIT_SCORE_REFUSED UINT32_MAX

/* A number for a program of a user: equal for equal names, never 0 but for a name that
 * is NULL or "".  Programs of different users never have the same number; those of one
 * user by an accident in 2^32, which only that user can bring about. */
uint64_t hpcb_fit_program(uint32_t uid, const char *name);

/* ---- Time sharing: the paper's algorithms ---- */

/* What an application moved on this node in one quantum, all its processes, bytes/s. */
typedef struct {
    uint64_t cpu; /* BW^C: between processors and memory */
    uint64_t net; /* BW^N */
} hpcb_fit_sample_t;

/* The demand predicted from the last w quanta: the mean of each axis, with the
 * network's share of the memory traffic added (section 4).  w 0 gives 0. */
hpcb_bw_t hpcb_fit_predict(const hpcb_fit_sample_t *samples, unsigned w);

typedef struct {
    hpcb_bw_t use;       /* all its processes on this node, predicted */
    unsigned processors; /* p_i; 0: none on this node */
} hpcb_fit_app_t;

/* BW_rem and P_rem: negative where more has been given away than there is. */
typedef struct {
    int64_t mem, net;
    unsigned processors;
} hpcb_fit_left_t;

/* All of a node; and what is left of it once app has been selected. */
hpcb_fit_left_t hpcb_fit_whole(const hpcb_bw_t *capacity, unsigned processors);
void hpcb_fit_take(hpcb_fit_left_t *left, const hpcb_fit_app_t *app);

__extension__ typedef unsigned __int128 hpcb_fit_square_t;

/* The square of figure 3's distance, in (bytes/s)^2 per processor; the largest value
 * there is where either side has no processor. */
hpcb_fit_square_t hpcb_fit_distance(const hpcb_fit_app_t *app,
                                    const hpcb_fit_left_t *left);

/*
 * Algorithm 2: who runs in the next quantum on a node with that capacity and those
 * processors.  apps is the list in its present order; selected[i] is written for each.
 * The first that has processors here is always selected, even where it asks for more
 * than there are; then, while something fits, the one with the least distance.  Returns
 * the processors that are left over.  O(count) a selection.
 */
unsigned hpcb_fit_select(const hpcb_fit_app_t *apps, size_t count,
                         const hpcb_bw_t *capacity, unsigned processors,
                         bool *selected);

/* Algorithm 1, line 10: add one node's selection to the sum of votes. */
void hpcb_fit_add_votes(uint32_t *votes, const bool *selected, size_t count);

/*
 * Algorithm 1, lines 11 to 16: who runs on a node with those processors once all votes
 * are counted, by decreasing number of votes.  The first that has processors here goes
 * before all others: where every application runs on every node, as the paper has it,
 * it has the most votes anyway; elsewhere nobody may starve.  Who does not fit any more
 * is passed over.  Only apps[].processors is read.  Returns the processors left over.
 */
unsigned hpcb_fit_elect(const hpcb_fit_app_t *apps, const uint32_t *votes, size_t count,
                        unsigned processors, bool *run);

#endif
