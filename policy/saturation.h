/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Whether a node's memory is saturated, from short bursts of reads on one CPU that
 * nobody uses, compared with the same bursts on the idle node.  For nodes whose memory
 * traffic nothing else measures.  Pure.
 *
 * A burst gives two rates: of reads from memory, and of reads from the CPU's own first
 * cache.  The second one says whether the CPU itself was slower than on the idle node
 * (another hardware thread of the core, a lower frequency, a hypervisor that took it
 * away): such a burst says nothing of memory and is dropped.
 *
 * What is compared is the median, within an interval that holds it with 95 %
 * probability whatever the distribution (order statistics, sign test).  The verdict is
 * "unknown" unless that whole interval lies on one side of each limit.  It is one of
 * the node: nothing of it is charged to a job.
 */
#ifndef HPCB_POLICY_SATURATION_H
#define HPCB_POLICY_SATURATION_H

#include <stddef.h>
#include <stdint.h>

/* Bursts that are kept, and that a verdict needs at least. */
#define HPCB_SATURATION_BURSTS 32
#define HPCB_SATURATION_LEAST  8

/* A burst older than this says nothing of now. */
#define HPCB_SATURATION_AGE_US UINT64_C(60000000)

/* How often there are bursts: slow on a node without guests, where the verdict serves
 * nobody but the placement of the first one. */
typedef enum { HPCB_SATURATION_SLOW, HPCB_SATURATION_FAST } hpcb_saturation_pace_t;

/* Thousandths of the idle node's rate that one CPU gets: at least the first one on a
 * node that is free, less than the second one on a saturated node. */
#define HPCB_SATURATION_FREE_PART 800
#define HPCB_SATURATION_FULL_PART 500

/* A burst is dropped if its CPU read its own cache at less than this part, in
 * thousandths, of the idle node's rate. */
#define HPCB_SATURATION_CPU_PART 850

/* The idle node's bursts must agree: three quarters of them within this part, in
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
    HPCB_SATURATION_DISTURBED, /* too few that are left: most CPUs were slower */
    HPCB_SATURATION_UNDECIDED, /* the interval holds a limit */
} hpcb_saturation_why_t;

typedef struct {
    hpcb_saturation_level_t level;
    hpcb_saturation_why_t why;
    /* Thousandths of the idle node's rate: the median and its interval of 95 %; all 0
     * if there were too few bursts.  Faster than idle counts as 1000. */
    uint32_t part, low, high;
    uint32_t bursts, dropped;
} hpcb_saturation_t;

/* The idle node's rates: medians. */
typedef struct {
    uint64_t memory, cache; /* bytes/s; 0: not known */
} hpcb_saturation_idle_t;

/* From n bursts (at most HPCB_SATURATION_BURSTS) on the idle node.  0; or -1, idle
 * untouched, if there are less than HPCB_SATURATION_LEAST or they do not agree: the
 * node was not idle, or its rate says nothing. */
int hpcb_saturation_idle(const hpcb_burst_t *bursts, size_t n,
                         hpcb_saturation_idle_t *idle);

/* From the n last bursts (at most HPCB_SATURATION_BURSTS, in any order), of which those
 * count that are at most age_us old. */
void hpcb_saturation_judge(const hpcb_burst_t *bursts, size_t n, uint64_t now_us,
                           uint64_t age_us, const hpcb_saturation_idle_t *idle,
                           hpcb_saturation_t *verdict);

/* That age for a node with so many NUMA nodes, which have bursts in turn: long enough
 * for HPCB_SATURATION_LEAST bursts of each. */
uint64_t hpcb_saturation_age_us(hpcb_saturation_pace_t pace, size_t numa_nodes);

/* Of two NUMA nodes what counts for the node: saturated, else unknown, else the one of
 * which less is left. */
hpcb_saturation_t hpcb_saturation_worse(const hpcb_saturation_t *a,
                                        const hpcb_saturation_t *b);

/* "unknown", "free", "busy", "saturated". */
const char *hpcb_saturation_name(hpcb_saturation_level_t level);

/*
 * How long to wait after something that took cpu_us of CPU time, so that all together
 * take less than HPCB_SATURATION_DUTY_PPM of one CPU, or HPCB_SATURATION_SLOW_PPM;
 * HPCB_SATURATION_PAUSE_US at least, or HPCB_SATURATION_SLOW_PAUSE_US.
 */
uint64_t hpcb_saturation_pause_us(uint64_t cpu_us, hpcb_saturation_pace_t pace);

#define HPCB_SATURATION_DUTY_PPM      1800 /* of the 0.2 % that it may take */
#define HPCB_SATURATION_SLOW_PPM      100  /* of the 0.05 % for all that hpcbd does */
#define HPCB_SATURATION_PAUSE_US      UINT64_C(500000)
#define HPCB_SATURATION_SLOW_PAUSE_US UINT64_C(4000000)

#endif
