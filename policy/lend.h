/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Memory that guests may use: memory that is allocated to primaries and unused.
 * Primaries own all memory that Slurm allocated to them.  What they are not expected to
 * touch is lent, and hpcbd takes it back on the node when they do.
 *
 *   free for guests = usable − reserve − Σ primaries' expected use − Σ guests' promises
 *
 * All values are bytes; sums saturate at UINT64_MAX, differences at 0.  Motivation:
 * 90 % of the jobs of four clusters used less than 15 % of a node's memory (Peng et al.
 * 2020).
 */
#ifndef HPCB_POLICY_LEND_H
#define HPCB_POLICY_LEND_H

#include <stdbool.h>
#include <stdint.h>

/* Seconds of growth that are kept free, the time hpcbd needs to take memory back. */
#define HPCB_LEND_HORIZON_SECONDS 30

/* Margin on observed use: a part of it. */
#define HPCB_LEND_MARGIN 8 /* an eighth */

/* Minimum of a reserve that is given in percent. */
#define HPCB_LEND_RESERVE_MIN (UINT64_C(512) << 20)

/* GuestMemoryReserve: percent of RealMemory, at least HPCB_LEND_RESERVE_MIN; or bytes
 * if percent is 0. */
typedef struct {
    unsigned percent;
    uint64_t bytes;
} hpcb_lend_reserve_t;

uint64_t hpcb_lend_reserve(const hpcb_lend_reserve_t *reserve, uint64_t real_memory);

/* A primary on one node. */
typedef struct {
    uint64_t promised;           /* by Slurm, on this node */
    bool reported;               /* used, growth and peak are from a current report */
    uint64_t used, growth, peak; /* common/live.h; growth in bytes/s */
    uint64_t age;                /* seconds since the job started */
    uint64_t profile; /* need of the program in earlier runs (95th percentile); 0:
                         unknown program */
} hpcb_lend_job_t;

/*
 * Return the expected use of the job: the larger of its present use with growth over
 * HPCB_LEND_HORIZON_SECONDS and a margin, and its profile with a margin; at least its
 * present use, and otherwise at most what it was promised.  All that it was promised
 * without a report, and for an unknown program before settle seconds.
 */
uint64_t hpcb_lend_expected(const hpcb_lend_job_t *job, uint64_t settle);

/* A node in one report. */
typedef struct {
    uint64_t real_memory; /* slurm.conf's RealMemory */
    uint64_t available;   /* what the kernel can still allocate */
    uint64_t used;        /* by all jobs in the report */
} hpcb_lend_node_t;

/* Return the memory for all jobs of the node: RealMemory, or less if other memory has
 * grown into it. */
uint64_t hpcb_lend_usable(const hpcb_lend_node_t *node);

/* Return the memory that another guest can get.  expected: sum over primaries; guests:
 * sum of what Slurm promised guests. */
uint64_t hpcb_lend_free(uint64_t usable, uint64_t reserve, uint64_t expected,
                        uint64_t guests);

#endif
