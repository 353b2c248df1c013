/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Who gives way when a primary grows into memory that is lent to guests.  Pure: the
 * caller samples, reclaims and ends jobs (hpcbd/memory/guard.c).
 *
 * Primaries own all memory of a node but a reserve.  What all guests together may hold
 *
 *     limit = real - reserve - (what primaries hold) - (what they will hold soon)
 *             - (what nobody is charged for)
 *
 * follows primaries from sample to sample.  Above it guests lose page cache and what
 * else can be reclaimed first; if that is not enough, whole guests end.  The same holds
 * for memory that nobody is charged for (the kernel, daemons, files in tmpfs): the
 * node's available memory must not fall below the reserve either.
 */
#ifndef HPCB_POLICY_MEMGUARD_H
#define HPCB_POLICY_MEMGUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How fast the memory of a job grows; all zero at first. */
typedef struct {
    uint64_t used;    /* bytes at the last sample */
    int64_t time_ms;  /* of it, of any clock that never steps; 0: no sample yet */
    uint64_t per_sec; /* bytes a second, 0 if it does not grow */
} hpcb_memrate_t;

/* Add a sample.  A growth counts at once and in full; if growth slows down or ends, the
 * rate halves every HPCB_MEMRATE_HALF_MS.  A sample that is not later than the last one
 * replaces it and leaves the rate. */
#define HPCB_MEMRATE_HALF_MS 2000
void hpcb_memrate_add(hpcb_memrate_t *rate, uint64_t used, int64_t time_ms);

/* How fast a node's available memory falls; all zero at first. */
typedef struct {
    uint64_t available; /* bytes at the last look */
    int64_t time_ms;    /* of it, as above; 0: no look yet */
    int64_t left_ms;    /* when there was some last */
    uint64_t per_sec;   /* bytes a second between the last two looks, 0 if it rises */
} hpcb_memfall_t;

/* Add a look; one that follows too soon is passed over.  The kernel says 0 when it has
 * nothing left but its own reserves, which still go: the rate stays for a second then.
 */
#define HPCB_MEMFALL_LOOK_MS 20
#define HPCB_MEMFALL_KEEP_MS 1000
void hpcb_memfall_look(hpcb_memfall_t *fall, uint64_t available, int64_t time_ms);

/* One guest; all in bytes. */
typedef struct {
    uint64_t used;        /* without what the kernel can take back without loss */
    uint64_t reclaimable; /* of used: what reclaim can get at (swap, dirty files) */
    uint64_t growth;      /* a second */
    int64_t begin;        /* when it started: later is younger */
    bool ending;          /* it has been killed, and its memory is on its way back */
    bool end;             /* set by hpcb_memguard_decide: end it now */
    uint64_t own;   /* what Slurm lets it have; HPCB_MEMGUARD_NO_LIMIT: anything */
    uint64_t limit; /* set by hpcb_memguard_divide */
} hpcb_memguest_t;

#define HPCB_MEMGUARD_NO_LIMIT UINT64_MAX

typedef struct {
    uint64_t real;      /* bytes that Slurm hands out on this node (RealMemory) */
    uint64_t reserve;   /* GuestMemoryReserve in bytes */
    uint64_t available; /* MemAvailable */
    uint64_t primaries; /* what all primaries hold together */
    uint64_t growth;    /* of primaries, a second */
    uint64_t falls;     /* by how much available memory falls a second, lately */
    bool guests_first;  /* the kernel's OOM killer takes guests before primaries */
    unsigned spared_ms; /* for how long guests have been spared (decision.spares) */
    unsigned stalled;   /* PSI: thousandths of the last moments in which somebody waited
                           for memory */
} hpcb_memnode_t;

typedef struct {
    uint64_t limit;    /* for all guests that stay together, now */
    uint64_t reclaim;  /* bytes to take back from guests; 0: none */
    unsigned ended;    /* how many guests have got end */
    bool at_once;      /* no time for SIGTERM: SIGKILL */
    bool spares;       /* it is too late to end guests */
    unsigned next_ms;  /* when the node is to be sampled again */
    uint64_t headroom; /* bytes of available memory above what must be left: if it
                          halves before the next sample, sample at once */
} hpcb_memdecision_t;

/* How far ahead of a primary's growth guests shrink, and how long it takes to end one:
 * reclaim begins for the first, guests end for the second. */
#define HPCB_MEMGUARD_AHEAD_MS 3000
#define HPCB_MEMGUARD_END_MS   500

/* Bounds of next_ms. */
#define HPCB_MEMGUARD_SAMPLE_MIN_MS 100
#define HPCB_MEMGUARD_SAMPLE_MAX_MS 3000

/*
 * The kernel's OOM killer does not see a guest that has been killed, long before the
 * memory of the guest is free, and could choose a primary.  It waits for a process that
 * it has killed itself.  So no guest is ended if the node will be full within
 * HPCB_MEMGUARD_FREE_AFTER_MS, or within HPCB_MEMGUARD_FULL_MS if available memory
 * falls faster than one process frees its own (HPCB_MEMGUARD_FREE_PER_SEC).  Guests are
 * spared for HPCB_MEMGUARD_SPARE_MS at most, because the fall may stop.
 */
#define HPCB_MEMGUARD_FREE_AFTER_MS 25
#define HPCB_MEMGUARD_FULL_MS       100
#define HPCB_MEMGUARD_FREE_PER_SEC  (UINT64_C(4) << 30)
#define HPCB_MEMGUARD_SPARE_MS      1000

/* Upper bounds of how fast the kernel clears pages for tasks, in bytes a second: for
 * those of one CPU, and of a whole node. */
#define HPCB_MEMGUARD_CPU_PER_SEC  (UINT64_C(8) << 30)
#define HPCB_MEMGUARD_NODE_PER_SEC (UINT64_C(512) << 30)

/* Bounds of hpcb_memguard_look_ms. */
#define HPCB_MEMGUARD_LOOK_MIN_MS 50
#define HPCB_MEMGUARD_LOOK_MAX_MS 500

/* Return the interval in ms at which to read available memory between two samples: the
 * time in which cpus CPUs (0 counts as 1) can allocate a quarter of headroom (bytes),
 * within the bounds above. */
unsigned hpcb_memguard_look_ms(uint64_t headroom, unsigned cpus);

/* From this on a stall of the node counts as shortage if less than twice the reserve is
 * available. */
#define HPCB_MEMGUARD_STALLED 100

/*
 * Decide for one sample.  guests[].end is set for those to end, which are never more
 * than are needed: the youngest of those that are large enough alone, else the largest
 * and then again; and none if it is too late for that (HPCB_MEMGUARD_FULL_MS).
 * Guests that are ending already count as gone.  What is not reclaimed in time is asked
 * for again by the next sample.
 */
void hpcb_memguard_decide(const hpcb_memnode_t *node, hpcb_memguest_t *guests,
                          size_t count, hpcb_memdecision_t *decision);

/* What a guest may take beyond its part, so that none is killed for a page. */
#define HPCB_MEMGUARD_SLACK (UINT64_C(8) << 20)

/*
 * Divide limit, what all guests together may hold, among those that neither end nor are
 * ending: each gets what it uses, and of what is left a part that goes by what it could
 * still take.  guests[].limit is never less than used and slack, nor more than own; the
 * sum is at most limit and a slack for each, as long as guests do not use more than
 * limit already.
 */
void hpcb_memguard_divide(uint64_t limit, hpcb_memguest_t *guests, size_t count);

#endif
