/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Choice of the guests that give way if a primary grows into memory that is lent to
 * guests.  Pure: the caller samples, reclaims and ends jobs (hpcbd/memory/guard.c).
 *
 * Primaries own all memory of a node except a reserve.  The limit for all guests
 * together
 *
 *     limit = real - reserve - (use of primaries) - (their growth soon)
 *             - (memory that is charged to nobody)
 *
 * follows primaries from sample to sample.  Above it guests first lose page cache and
 * other reclaimable memory; if that is not enough, whole guests end.  The same holds
 * for memory that is charged to nobody (the kernel, daemons, files in tmpfs): the
 * node's available memory must not fall below the reserve either.
 */
#ifndef HPCB_POLICY_MEMGUARD_H
#define HPCB_POLICY_MEMGUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Growth rate of the memory of a job; initially all zero. */
typedef struct {
    uint64_t used;    /* bytes at the last sample */
    int64_t time_ms;  /* of that sample, any monotonic clock; 0: no sample yet */
    uint64_t per_sec; /* bytes per second, 0 if it does not grow */
} hpcb_memrate_t;

/* Add a sample.  Growth counts at once and in full.  If growth slows down or ends, the
 * rate halves every HPCB_MEMRATE_HALF_MS.  A sample that is not later than the last one
 * replaces it and does not change the rate. */
#define HPCB_MEMRATE_HALF_MS 2000
void hpcb_memrate_add(hpcb_memrate_t *rate, uint64_t used, int64_t time_ms);

/* Rate at which a node's available memory falls; initially all zero. */
typedef struct {
    uint64_t available; /* bytes at the last reading */
    int64_t time_ms;    /* of that reading, as above; 0: none yet */
    int64_t left_ms;    /* last time at which available memory was not 0 */
    uint64_t per_sec;   /* bytes/s between the last two readings; 0 if it rises */
} hpcb_memfall_t;

/* Add a reading; one that follows too soon is ignored.  The kernel reports 0 once only
 * its own reserves are left, and these continue to fall: the rate then stays for a
 * second. */
#define HPCB_MEMFALL_LOOK_MS 20
#define HPCB_MEMFALL_KEEP_MS 1000
void hpcb_memfall_look(hpcb_memfall_t *fall, uint64_t available, int64_t time_ms);

/* State of one guest in bytes. */
typedef struct {
    uint64_t used;        /* without memory that the kernel can reclaim without loss */
    uint64_t reclaimable; /* part of used that reclaim can free (swap, dirty files) */
    uint64_t growth;      /* bytes per second */
    int64_t begin;        /* start time; a later one means a younger guest */
    bool ending;          /* it has been killed, and its memory is being freed */
    bool end;             /* set by hpcb_memguard_decide: end it now */
    uint64_t own;         /* memory that Slurm grants it; HPCB_MEMGUARD_NO_LIMIT: any */
    uint64_t limit;       /* set by hpcb_memguard_divide */
} hpcb_memguest_t;

#define HPCB_MEMGUARD_NO_LIMIT UINT64_MAX

typedef struct {
    uint64_t real;      /* memory of this node that Slurm allocates (RealMemory) */
    uint64_t reserve;   /* GuestMemoryReserve in bytes */
    uint64_t available; /* MemAvailable */
    uint64_t primaries; /* use of all primaries */
    uint64_t growth;    /* of primaries, bytes per second */
    uint64_t falls;     /* recent decrease of available memory, bytes per second */
    bool guests_first;  /* the kernel's OOM killer takes guests before primaries */
    unsigned spared_ms; /* time without an end because of decision.spares */
    unsigned stalled; /* PSI: thousandths of the last moments in which tasks waited for
                         memory */
} hpcb_memnode_t;

typedef struct {
    uint64_t limit;    /* present limit of all guests that stay together */
    uint64_t reclaim;  /* bytes to reclaim from guests; 0: none */
    unsigned ended;    /* number of guests with end set */
    bool at_once;      /* there is no time for SIGTERM: use SIGKILL */
    bool spares;       /* it is too late to end guests */
    unsigned next_ms;  /* time of the next sample of the node */
    uint64_t headroom; /* bytes of available memory above the minimum; if this halves
                          before the next sample, sample at once */
} hpcb_memdecision_t;

/* Lead over a primary's growth: guests are reclaimed for the growth within the first,
 * and end for the growth within the second, which is how long it takes to end one. */
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

/* If PSI is at least this, in thousandths, and less than twice the reserve is
 * available, the node is short of memory. */
#define HPCB_MEMGUARD_STALLED 100

/*
 * Decide for one sample.  Sets guests[].end for guests to end, never more than
 * necessary: the youngest of those that are large enough alone; otherwise the largest,
 * and so on; none if it is too late (HPCB_MEMGUARD_FULL_MS).  Guests that are ending
 * already count as gone.  Memory that is not reclaimed in time is requested again by
 * the next sample.
 */
void hpcb_memguard_decide(const hpcb_memnode_t *node, hpcb_memguest_t *guests,
                          size_t count, hpcb_memdecision_t *decision);

/* Memory that a guest may take beyond its part, so that none is killed for a page. */
#define HPCB_MEMGUARD_SLACK (UINT64_C(8) << 20)

/*
 * Divide limit, the memory of all guests together, among those that neither end nor are
 * ending.  Each gets its use, and a part of the rest in proportion to what it may still
 * take.  guests[].limit is at least used and slack, and at most own.  The sum is at
 * most limit and one slack per guest, unless guests use more than limit already.
 */
void hpcb_memguard_divide(uint64_t limit, hpcb_memguest_t *guests, size_t count);

#endif
