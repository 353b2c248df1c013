/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Jobs that should share a node: MemBUS (Koukis and Koziris, "Memory and Network
 * Bandwidth Aware Scheduling of Multiprogrammed Workloads on Clusters of SMPs", section
 * 4) as pure functions of integers.  Jobs whose demands add up to the capacity of the
 * node, in the plane of memory and network bandwidth, run together; others do not.
 *
 * Two forms:
 *  - for time sharing on one node, as in the paper: the distance of figure 3, the
 *    selection for one quantum (algorithm 2) and the reduction of the nodes' votes
 *    (second phase of algorithm 1).  policy/gang uses prediction and distance; only
 *    tests and the simulator use the rest;
 *  - for placement: the node with the smallest distance for a given guest
 *    (hpcb_fit_place).
 *
 * Bandwidths are bytes/s per node.  "mem" is all traffic of a job on the memory bus:
 * that of its processors and that of the network card for it (section 4: BW^M = BW^C +
 * BW^N).  Values above HPCB_FIT_BW_MAX are treated as HPCB_FIT_BW_MAX.  The same input
 * gives the same output on every machine: quotients are rounded down to whole bytes/s,
 * and the first of equals in the list wins.
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

/* A guest as it would run on one node. */
typedef struct {
    hpcb_bw_t use;             /* demand on each of its nodes */
    bool mem_known, net_known; /* use.mem, use.net are known */
    bool cpu_known;
    uint64_t cpu;        /* CPU time that it needs on a node, millionths of one CPU */
    uint64_t program;    /* hpcb_fit_program; 0: unknown.  The caller sets
                            hpcb_fit_node_t.same_program by it */
    unsigned processors; /* on each node; 0: all that are left */
} hpcb_fit_guest_t;

/* A candidate node without that guest. */
typedef struct {
    hpcb_bw_t capacity;                          /* 0 = unknown */
    hpcb_bw_t used_by_primaries, used_by_guests; /* sums of the known profiles */
    bool unknown_primary, unknown_guest; /* a job there has no complete profile */
    bool same_program;                   /* the guest's program runs there already */
    hpcb_company_verdict_t company;      /* the worst verdict for the primaries there */
    unsigned processors_left;            /* not allocated to guests */
    /* Millionths of a CPU: of the node (0: the axis is ignored), used by primaries and
     * by guests.  A job of unknown use counts as one that uses all of its CPUs. */
    uint64_t cpus, cpus_by_primaries, cpus_by_guests;
    /* Result of a probe (policy/saturation.h), whichever job saturates memory: */
    bool mem_saturated;
    uint32_t mem_lost; /* thousandths, at most 1000, of the idle node's bandwidth for
                          one CPU that are missing now; 0: none, or unknown */
    hpcb_bw_t scale;   /* for an axis of unknown capacity: the largest use on any of the
                          compared nodes, the same for all of them */
} hpcb_fit_node_t;

/*
 * Classes of nodes for a guest, best first.  The distance is that of figure 3 between
 * the guest's demand and its share, by processors, of what is left on the node, each
 * axis relative to the node's capacity.  An axis on which the guest's demand is unknown
 * is ignored.  The third axis is CPU time that primaries leave while they wait, on
 * which a guest lives.  (The paper has two axes; the third one is the premise of
 * stealing CPU time.)  No guest is refused for CPU time.
 *
 * If a probe reports that memory is short, the node comes later for a guest that needs
 * memory bandwidth (more than a HPCB_FIT_TRIFLE-th of the capacity, or anything if that
 * is unknown) or of which the need is unknown: the least saturated node first, a
 * saturated one as POOR.  A probe refuses no guest, because it measures the present and
 * not the future.
 *
 * If the guest's CPU time is unknown, nodes with more CPU time left come first within
 * their class, as if the guest used all its CPUs.
 *
 * If the capacity of a node is unknown, nodes with less use come first: within their
 * class the distance grows with their use, relative to scale, and with what the guest
 * would add.
 */
enum {
    HPCB_FIT_EXCELLENT, /* distance below 1/8 */
    HPCB_FIT_GOOD,      /* below 1/4 */
    HPCB_FIT_FAIR,      /* larger: mostly because the node would stay underused */
    HPCB_FIT_UNKNOWN,   /* no axis of known capacity applies, or a job on the node is
                           unknown */
    HPCB_FIT_POOR, /* exceeds its share by 1/4 of the capacity or more while other jobs
                      run there; or an unknown guest where nothing is left */
    HPCB_FIT_TWIN, /* the same program runs there and needs the same at the same time
                      (section 3: two instances side by side lost most) */
    HPCB_FIT_COMPANY, /* bad company is there (policy/company.h), but its last offence
                         is old */
    HPCB_FIT_CLASSES,
    HPCB_FIT_REFUSED = 255
};

/*
 * Return the class (above) of node for guest.  Return HPCB_FIT_REFUSED if memory or
 * network are known and primaries, guests and this guest together would need more than
 * the node has.  Guests that need, all together, at most 1/32 of it (HPCB_FIT_TRIFLE)
 * are not refused: next to a primary that saturates the node alone they fit best
 * (section 6: membench-min).  A guest that needs more than the whole capacity counts as
 * one that needs all of it, and runs there alone.  Also return HPCB_FIT_REFUSED if the
 * guest is kept off bad company there.
 */
int hpcb_fit_place(const hpcb_fit_node_t *node, const hpcb_fit_guest_t *guest);

#define HPCB_FIT_TRIFLE 32

/*
 * Return the class with the order inside it: class << HPCB_FIT_SCORE_SHIFT, plus the
 * distance in 65536ths (at most 2^17 - 1); HPCB_FIT_SCORE_BITS bits.  Return
 * HPCB_FIT_SCORE_REFUSED if hpcb_fit_place returns HPCB_FIT_REFUSED.
 */
uint32_t hpcb_fit_score(const hpcb_fit_node_t *node, const hpcb_fit_guest_t *guest);

#define HPCB_FIT_SCORE_SHIFT   17
#define HPCB_FIT_SCORE_BITS    20
#define HPCB_FIT_SCORE_REFUSED UINT32_MAX

/* Return a number for a program of a user: equal for equal names; 0 only for a name
 * that is NULL or "".  Programs of different users never have the same number.  Those
 * of one user collide with a probability of 1 in 2^32, and only that user can bring it
 * about. */
uint64_t hpcb_fit_program(uint32_t uid, const char *name);

/* ---- Time sharing: the paper's algorithms ---- */

/* Traffic of an application on this node in one quantum, all its processes, bytes/s. */
typedef struct {
    uint64_t cpu; /* BW^C: between processors and memory */
    uint64_t net; /* BW^N */
} hpcb_fit_sample_t;

/* Return the demand predicted from the last w quanta: the mean of each axis, with the
 * network's share of the memory traffic added (section 4).  w 0 gives 0. */
hpcb_bw_t hpcb_fit_predict(const hpcb_fit_sample_t *samples, unsigned w);

typedef struct {
    hpcb_bw_t use;       /* predicted, all its processes on this node */
    unsigned processors; /* p_i; 0: none on this node */
} hpcb_fit_app_t;

/* BW_rem and P_rem; negative if more has been given away than there is. */
typedef struct {
    int64_t mem, net;
    unsigned processors;
} hpcb_fit_left_t;

/* Return the capacity of a node; subtract what app takes once it has been selected. */
hpcb_fit_left_t hpcb_fit_whole(const hpcb_bw_t *capacity, unsigned processors);
void hpcb_fit_take(hpcb_fit_left_t *left, const hpcb_fit_app_t *app);

__extension__ typedef unsigned __int128 hpcb_fit_square_t;

/* Return the square of figure 3's distance, in (bytes/s)^2 per processor; the largest
 * value if either side has no processor. */
hpcb_fit_square_t hpcb_fit_distance(const hpcb_fit_app_t *app,
                                    const hpcb_fit_left_t *left);

/*
 * Algorithm 2: select the applications that run in the next quantum on a node with that
 * capacity and number of processors.  apps is the list in its present order;
 * selected[i] is written for each.  The first one that has processors here is always
 * selected, even if it asks for more than there are.  After that the one with the least
 * distance follows, as long as one fits.  Return the number of processors left over.
 * O(count) per selection.
 */
unsigned hpcb_fit_select(const hpcb_fit_app_t *apps, size_t count,
                         const hpcb_bw_t *capacity, unsigned processors,
                         bool *selected);

/* Algorithm 1, line 10: add one node's selection to the sum of votes. */
void hpcb_fit_add_votes(uint32_t *votes, const bool *selected, size_t count);

/*
 * Algorithm 1, lines 11 to 16: elect the applications that run on a node with that
 * number of processors after all votes are counted, by decreasing number of votes.  The
 * first one that has processors here goes before all others.  If every application runs
 * on every node, as in the paper, it has the most votes anyway; otherwise this prevents
 * starvation.  Applications that do not fit any more are skipped.  Only
 * apps[].processors is read.  Return the number of processors left over.
 */
unsigned hpcb_fit_elect(const hpcb_fit_app_t *apps, const uint32_t *votes, size_t count,
                        unsigned processors, bool *run);

#endif
