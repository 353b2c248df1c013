/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The live state of nodes: what hpcbd on each node reports every few seconds, and the
 * file on the controller by which slurmctld's plugins know it.
 *
 *   hpcbd --> collector (hpcbd/records/wire_live.h) --> CollectorDir/live --> select/
 *
 * The collector replaces the file as a whole, at most once a second; a reader never
 * waits for anybody.  Who owns the file counts: root, or the user that reads it.  A
 * file that is missing, broken or foreign, a node that is not in it, and a report older
 * than HPCB_LIVE_STALE_SECONDS mean the same: nothing is known of the node, and nothing
 * of its memory can be lent.
 *
 * The file is binary, of one host: a header with the sizes of the records that follow,
 * one record for each node, one for each job.  Members are only ever added at the end
 * of a record; a reader takes those that it knows, and what an older writer has not
 * written is 0.
 */
#ifndef HPCB_COMMON_LIVE_H
#define HPCB_COMMON_LIVE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/conf.h"
#include "common/error.h"

/* Below CollectorDir. */
#define HPCB_LIVE_FILE "live"

/* How often a node reports, and how old a report may be. */
#define HPCB_LIVE_REPORT_SECONDS 3
#define HPCB_LIVE_STALE_SECONDS  15

/* Of one file; of one node. */
#define HPCB_LIVE_NODES_MAX     65536
#define HPCB_LIVE_JOBS_MAX      (1024 * 1024)
#define HPCB_LIVE_NODE_JOBS_MAX 1024
#define HPCB_LIVE_BYTES_MAX     (128u * 1024 * 1024)

/* One job on one node. */
typedef struct {
    uint32_t job_id; /* never 0 */
    bool guest;
    uint64_t used;   /* bytes that it has now: what its control group is charged for
                        less what the kernel can take back without loss (clean page
                        cache) */
    uint64_t growth; /* bytes/s, over the last few seconds; 0 if it shrinks */
    uint64_t peak;   /* bytes: the most that it had so far */
    bool cpus_known;
    uint64_t cpus; /* that it computes on, millionths (policy/busy.h) */
} hpcb_live_job_t;

/* As of policy/saturation.h. */
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
    bool protects;            /* hpcbd ends guests here before a primary lacks memory;
                                 without that nothing is lent */
    uint64_t mem_bandwidth, net_bandwidth; /* bytes/s that it has measured of itself,
                                              0: not known */
    uint32_t saturation;  /* of its memory, HPCB_LIVE_... below; by a probe where no
                             sensor measures what goes to and from memory */
    uint32_t memory_part; /* thousandths of what one CPU of the idle node reads that one
                             CPU can read now; 0: saturation is unknown */
    uint32_t n_jobs;
    hpcb_live_job_t *jobs; /* NULL for none */
} hpcb_live_node_t;

/* True if the report is of the last HPCB_LIVE_STALE_SECONDS before now; one from the
 * future is not. */
bool hpcb_live_is_fresh(const hpcb_live_node_t *node, int64_t now);

/* Reading: */

typedef struct {
    size_t n_nodes;
    hpcb_live_node_t *nodes;
    hpcb_live_job_t *jobs; /* of all nodes */
} hpcb_live_t;

/* Read length bytes of a file.  0 (release live with hpcb_live_clear), or -1 with err
 * and live untouched: EINVAL for what is no such file, ENOMEM. */
int hpcb_live_parse(const void *data, size_t length, hpcb_live_t *live,
                    hpcb_error_t *err);

/* Read the file in dir (CollectorDir) if it is another one than last time: known is
 * the caller's memory of that, all zero at first.  1: live is new, what it held before
 * has been released; 0: it is the same file; -1 with errno and err: there is no file
 * that counts, and live is untouched. */
typedef struct {
    uint64_t device, inode;
    int64_t seconds, nanoseconds;
} hpcb_live_known_t;

int hpcb_live_read(const char *dir, hpcb_live_known_t *known, hpcb_live_t *live,
                   hpcb_error_t *err);

/* Release all; live is then one of no nodes.  All zero bytes are fine. */
void hpcb_live_clear(hpcb_live_t *live);

/* Writing: */

typedef struct hpcb_live_table hpcb_live_table_t;

/* NULL when memory runs out. */
hpcb_live_table_t *hpcb_live_table_new(void);
void hpcb_live_table_free(hpcb_live_table_t *table);

/* Put a copy of node into the table, in place of the one of that name.  0, or -1 with
 * errno: ENOMEM, ENOSPC (beyond the limits above), EINVAL (a name or a count that no
 * node has). */
int hpcb_live_put(hpcb_live_table_t *table, const hpcb_live_node_t *node);

size_t hpcb_live_count(const hpcb_live_table_t *table);

/* Drop nodes whose time is before then. */
void hpcb_live_drop(hpcb_live_table_t *table, int64_t then);

/* The content of a file; the caller frees it.  NULL when memory runs out. */
void *hpcb_live_render(const hpcb_live_table_t *table, size_t *length);

/* Replace the file in dir.  0, or -1 with errno and err. */
int hpcb_live_write(const hpcb_live_table_t *table, const char *dir, hpcb_error_t *err);

#endif
