/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Saturation of a node's memory, measured by short bursts of reads on a CPU that nobody
 * uses and compared with the same bursts on the idle node.  For nodes on which nothing
 * else measures memory traffic.  Pure.
 *
 * A burst yields two rates: of reads from memory, and of reads from the CPU's own
 * first-level cache.  The second one shows whether the CPU itself was slower than on
 * the idle node (another hardware thread of the core, a lower frequency, a
 * hypervisor).  Such a burst says nothing about memory and is dropped.
 *
 * The median is compared, with an interval that contains it with 95 % probability for
 * any distribution (order statistics, sign test).  The verdict is "unknown" unless the
 * whole interval lies on one side of each limit.  It describes the node; no job is
 * charged for it.
 */
#ifndef HPCB_POLICY_SATURATION_H
#define HPCB_POLICY_SATURATION_H

#include <stddef.h>
#include <stdint.h>

/* Number of bursts that are kept, and the minimum for a verdict. */
#define HPCB_SATURATION_BURSTS 32
#define HPCB_SATURATION_LEAST  8

/* Maximum age of a burst. */
#define HPCB_SATURATION_AGE_US UINT64_C(60000000)

/* Pace of bursts: slow on a node without guests, where the verdict only serves the
 * placement of the first guest. */
typedef enum { HPCB_SATURATION_SLOW, HPCB_SATURATION_FAST } hpcb_saturation_pace_t;

/* Thousandths of the idle node's rate for one CPU: a free node has at least the first,
 * a saturated one less than the second. */
#define HPCB_SATURATION_FREE_PART 800
#define HPCB_SATURATION_FULL_PART 500

/* A burst is dropped if its CPU read its own cache at less than this part, in
 * thousandths, of the idle node's rate. */
#define HPCB_SATURATION_CPU_PART 850

/* The idle node's bursts must agree: three quarters of them lie within this part, in
 * thousandths, of the median. */
#define HPCB_SATURATION_SPREAD 150

typedef struct {
    uint64_t time_us;       /* CLOCK_MONOTONIC */
    uint64_t memory, cache; /* bytes/s */
} hpcb_burst_t;

typedef enum {
    HPCB_SATURATION_UNKNOWN,
    HPCB_SATURATION_FREE,
    HPCB_SATURATION_BUSY,
    HPCB_SATURATION_FULL,
    HPCB_SATURATION_LEVELS
} hpcb_saturation_level_t;

/* Why a level is unknown. */
typedef enum {
    HPCB_SATURATION_KNOWN,
    HPCB_SATURATION_FEW,       /* too few bursts: no CPU was idle for them */
    HPCB_SATURATION_DISTURBED, /* too few bursts remain: most CPUs were slower */
    HPCB_SATURATION_UNDECIDED, /* the interval contains a limit */
} hpcb_saturation_why_t;

typedef struct {
    hpcb_saturation_level_t level;
    hpcb_saturation_why_t why;
    /* Thousandths of the idle node's rate: the median and its 95 % interval; all 0 if
     * there were too few bursts.  A rate above the idle node's counts as 1000. */
    uint32_t part, low, high;
    uint32_t bursts, dropped;
} hpcb_saturation_t;

/* Rates of the idle node: medians. */
typedef struct {
    uint64_t memory, cache; /* bytes/s; 0: not known */
} hpcb_saturation_idle_t;

/* Get the idle node's rates from n bursts (at most HPCB_SATURATION_BURSTS).  Return 0,
 * or -1 with idle unchanged if there are less than HPCB_SATURATION_LEAST or if they do
 * not agree: the node was not idle, or its rate is no measure. */
int hpcb_saturation_idle(const hpcb_burst_t *bursts, size_t n,
                         hpcb_saturation_idle_t *idle);

/* Judge the last n bursts (at most HPCB_SATURATION_BURSTS, in any order).  Those older
 * than age_us are ignored. */
void hpcb_saturation_judge(const hpcb_burst_t *bursts, size_t n, uint64_t now_us,
                           uint64_t age_us, const hpcb_saturation_idle_t *idle,
                           hpcb_saturation_t *verdict);

/* Return that age for a node with so many NUMA nodes, which have bursts in turn: enough
 * for HPCB_SATURATION_LEAST bursts of each. */
uint64_t hpcb_saturation_age_us(hpcb_saturation_pace_t pace, size_t numa_nodes);

/* Return which of the verdicts for two NUMA nodes applies to the node: saturated,
 * otherwise unknown, otherwise the one with less bandwidth left. */
hpcb_saturation_t hpcb_saturation_worse(const hpcb_saturation_t *a,
                                        const hpcb_saturation_t *b);

/* Return "unknown", "free", "busy" or "saturated". */
const char *hpcb_saturation_name(hpcb_saturation_level_t level);

/*
 * Return how long to pause after a burst that took cpu_us of CPU time, so that bursts
 * take less than HPCB_SATURATION_DUTY_PPM, or HPCB_SATURATION_SLOW_PPM, of one CPU; at
 * least HPCB_SATURATION_PAUSE_US, or HPCB_SATURATION_SLOW_PAUSE_US.
 */
uint64_t hpcb_saturation_pause_us(uint64_t cpu_us, hpcb_saturation_pace_t pace);

#define HPCB_SATURATION_DUTY_PPM      1800 /* the limit is 0.2 % */
#define HPCB_SATURATION_SLOW_PPM      100  /* the limit for all of hpcbd is 0.05 % */
#define HPCB_SATURATION_PAUSE_US      UINT64_C(500000)
#define HPCB_SATURATION_SLOW_PAUSE_US UINT64_C(4000000)

#endif
