/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Memory that guests may have: what primaries hold only on paper.  Primaries own all
 * that Slurm promised them; what they are not expected to touch is lent, and taken back
 * on the node when they do (hpcbd).
 *
 *   free for guests = usable − reserve − Σ primaries' expected use − Σ guests' promises
 *
 * Bytes throughout; sums stop at UINT64_MAX, differences at 0.  Why it pays: 90 % of
 * the jobs of four clusters used less than 15 % of a node's memory (Peng et al. 2020).
 */
#ifndef HPCB_POLICY_LEND_H
#define HPCB_POLICY_LEND_H

#include <stdbool.h>
#include <stdint.h>

/* What hpcbd needs to take memory back: it sees growth this long before it has. */
#define HPCB_LEND_HORIZON_SECONDS 30

/* What use is taken to be higher than was seen: a part of it. */
#define HPCB_LEND_MARGIN 8 /* an eighth */

/* The least reserve where it is a percentage. */
#define HPCB_LEND_RESERVE_MIN (UINT64_C(512) << 20)

/* GuestMemoryReserve: percent of RealMemory but at least HPCB_LEND_RESERVE_MIN, or
 * bytes where percent is 0. */
typedef struct {
    unsigned percent;
    uint64_t bytes;
} hpcb_lend_reserve_t;

uint64_t hpcb_lend_reserve(const hpcb_lend_reserve_t *reserve, uint64_t real_memory);

/* A primary on one node. */
typedef struct {
    uint64_t promised; /* by Slurm, on this node */
    bool reported;     /* used, growth and peak are of a report that is not stale */
    uint64_t used, growth, peak; /* common/live.h; growth in bytes/s */
    uint64_t age;                /* seconds since the job started */
    uint64_t profile;            /* what the program needs by earlier runs (95th
                                    percentile), 0: unknown program */
} hpcb_lend_job_t;

/*
 * What the job is expected to use: the larger of what it touches, with its growth over
 * HPCB_LEND_HORIZON_SECONDS and a margin, and what its profile says with a margin; but
 * not less than it uses now, and otherwise not more than it was promised.  Without a
 * report, and for an unknown program before settle seconds: all that was promised.
 */
uint64_t hpcb_lend_expected(const hpcb_lend_job_t *job, uint64_t settle);

/* A node, as one report has it. */
typedef struct {
    uint64_t real_memory; /* slurm.conf's RealMemory */
    uint64_t available;   /* that the kernel could still hand out */
    uint64_t used;        /* by all jobs of the report */
} hpcb_lend_node_t;

/* What jobs can have on the node altogether: RealMemory, or less where what is no job's
 * has grown into it. */
uint64_t hpcb_lend_usable(const hpcb_lend_node_t *node);

/* What a further guest can have; expected: the sum over primaries, guests: the sum of
 * what Slurm promised guests. */
uint64_t hpcb_lend_free(uint64_t usable, uint64_t reserve, uint64_t expected,
                        uint64_t guests);

#endif
