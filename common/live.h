/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Live state of nodes: the reports of hpcbd on each node, sent every few seconds, and
 * the file on the controller from which slurmctld's plugins read them.
 *
 *   hpcbd --> collector (hpcbd/records/wire_live.h) --> CollectorDir/live --> select/
 *
 * The collector replaces the file as a whole, at most once a second, and a reader never
 * waits.  The owner must be root or the user that reads it.  A file that is missing,
 * damaged or of another owner, a node that is not in it, and a report older than
 * HPCB_LIVE_STALE_SECONDS have the same meaning: the node's state is unknown, and none
 * of its memory can be lent.
 *
 * The file is binary, for one host: a header with the sizes of the following records,
 * one record per node, one per job.  New members are only added at the end of a record;
 * a reader uses those that it knows, and members that an older writer does not have are
 * 0.
 */
#ifndef HPCB_COMMON_LIVE_H
#define HPCB_COMMON_LIVE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/conf.h"
#include "common/error.h"

/* Name below CollectorDir. */
#define HPCB_LIVE_FILE "live"

/* Interval of a node's reports, and maximum age of a report. */
#define HPCB_LIVE_REPORT_SECONDS 3
#define HPCB_LIVE_STALE_SECONDS  15

/* Limits of one file, and of one node. */
#define HPCB_LIVE_NODES_MAX     65536
#define HPCB_LIVE_JOBS_MAX      (1024 * 1024)
#define HPCB_LIVE_NODE_JOBS_MAX 1024
#define HPCB_LIVE_BYTES_MAX     (128u * 1024 * 1024)

/* One job on one node. */
typedef struct {
    uint32_t job_id; /* never 0 */
    bool guest;
    uint64_t used; /* present memory in bytes: the charge of its control group less what
                      the kernel can reclaim without loss (clean page cache) */
    uint64_t growth; /* bytes/s over the last few seconds; 0 if it shrinks */
    uint64_t peak;   /* bytes: largest use so far */
    bool cpus_known;
    uint64_t cpus; /* CPUs that it uses, millionths (policy/busy.h) */
} hpcb_live_job_t;

/* Levels of policy/saturation.h. */
enum {
    HPCB_LIVE_SATURATION_UNKNOWN,
    HPCB_LIVE_SATURATION_FREE,
    HPCB_LIVE_SATURATION_BUSY,
    HPCB_LIVE_SATURATED,
};

/* One node. */
typedef struct {
    char name[HPCB_NAME_MAX]; /* Slurm's NodeName */
    int64_t time;             /* of the sample: CLOCK_REALTIME, seconds */
    uint64_t memory;          /* bytes: RealMemory as the node sees it */
    uint64_t available;       /* bytes: MemAvailable */
    bool protects; /* hpcbd ends guests here before a primary lacks memory; without that
                      no memory is lent */
    uint64_t mem_bandwidth, net_bandwidth; /* bytes/s, measured; 0: not known */
    uint32_t saturation;  /* of its memory, HPCB_LIVE_... above; from a probe if no
                             sensor measures memory traffic */
    uint32_t memory_part; /* thousandths of the idle node's bandwidth for one CPU that
                             one CPU has now; 0: saturation is unknown */
    uint32_t n_jobs;
    hpcb_live_job_t *jobs; /* NULL for none */
} hpcb_live_node_t;

/* Return true if the report is less than HPCB_LIVE_STALE_SECONDS old at now, and not
 * from the future. */
bool hpcb_live_is_fresh(const hpcb_live_node_t *node, int64_t now);

/* Reading: */

typedef struct {
    size_t n_nodes;
    hpcb_live_node_t *nodes;
    hpcb_live_job_t *jobs; /* of all nodes */
} hpcb_live_t;

/* Parse length bytes of a file.  Return 0 (free live with hpcb_live_clear), or -1 with
 * err and live unchanged: EINVAL if it is not such a file, ENOMEM. */
int hpcb_live_parse(const void *data, size_t length, hpcb_live_t *live,
                    hpcb_error_t *err);

/* Read the file in dir (CollectorDir) if it has changed: known, initially all zero, is
 * the caller's state for that.  Return 1 if live is new (its old content has been
 * freed); 0 if the file is the same; -1 with errno and err, and live unchanged, if
 * there is no valid file. */
typedef struct {
    uint64_t device, inode;
    int64_t seconds, nanoseconds;
} hpcb_live_known_t;

int hpcb_live_read(const char *dir, hpcb_live_known_t *known, hpcb_live_t *live,
                   hpcb_error_t *err);

/* Free all; live then has no nodes.  live may be all zero. */
void hpcb_live_clear(hpcb_live_t *live);

/* Writing: */

typedef struct hpcb_live_table hpcb_live_table_t;

/* Return NULL if memory is short. */
hpcb_live_table_t *hpcb_live_table_new(void);
void hpcb_live_table_free(hpcb_live_table_t *table);

/* Copy node into the table; it replaces the one of that name.  Return 0, or -1 with
 * errno: ENOMEM, ENOSPC (beyond the limits above), EINVAL (invalid name or count). */
int hpcb_live_put(hpcb_live_table_t *table, const hpcb_live_node_t *node);

size_t hpcb_live_count(const hpcb_live_table_t *table);

/* Drop nodes with a time before then. */
void hpcb_live_drop(hpcb_live_table_t *table, int64_t then);

/* Return the content of a file; the caller frees it.  NULL if memory is short. */
void *hpcb_live_render(const hpcb_live_table_t *table, size_t *length);

/* Replace the file in dir.  Return 0, or -1 with errno and err. */
int hpcb_live_write(const hpcb_live_table_t *table, const char *dir, hpcb_error_t *err);

#endif
