/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The parts of `hpcbctl calibrate`, separate for tests. */
#ifndef HPCB_HPCBCTL_CALIBRATE_CALIBRATE_H
#define HPCB_HPCBCTL_CALIBRATE_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <json-c/json.h>
#include "cgroup/node.h"
#include "common/conf.h"
#include "policy/cpus.h"

/* ---- Other load on the node ---- */

typedef struct {
    size_t primaries; /* jobs other than the caller's, also without a record */
    size_t guests;
    uint32_t a_primary; /* one of them; 0 if there is none */
    double busy;        /* part of all CPUs that was in use before the measurement */
} hpcb_company_t;

/* Find other jobs; busy is unchanged.  Return 0, or -1 with err if they cannot be
 * found; company then counts those found so far. */
int hpcb_company_jobs(const hpcb_conf_t *conf, const hpcb_node_t *node,
                      hpcb_company_t *company, hpcb_error_t *err);

/* Get the seconds since boot for which all CPUs were busy or taken by a hypervisor, and
 * the total of all CPUs, from the text of /proc/stat.  Return -1 if it has no such
 * line. */
int hpcb_company_ticks(const char *stat, double *busy, double *all);

/* ---- Memory ---- */

#define HPCB_CALIBRATE_ROWS   6
#define HPCB_CALIBRATE_PASSES 5

typedef struct {
    size_t stride; /* words of 8 bytes */
    bool write;
    double median, least, most; /* bytes/s of all CPUs together */
} hpcb_memory_row_t;

typedef struct {
    unsigned cpus;
    size_t block; /* bytes that each CPU reads */
    size_t huge;  /* bytes of all blocks in huge pages */
    size_t rows;
    hpcb_memory_row_t row[HPCB_CALIBRATE_ROWS];
    /* bytes/s: the median for a stride of one line, of reading or writing, whichever is
     * lower: what memory transfers in any case */
    uint64_t capacity;
    double cpu_part; /* part of the time for which the threads had their CPUs */
} hpcb_memory_t;

/*
 * Measure with one thread on each of cpus, for about `seconds` in total; progress (may
 * be NULL) is called before each pass with its number, from 1, and the number of
 * passes.  Return 0, or -1 with err.
 */
int hpcb_calibrate_memory(const hpcb_cpus_t *cpus, double seconds,
                          void (*progress)(unsigned pass, unsigned passes),
                          hpcb_memory_t *memory, hpcb_error_t *err);

/* ---- Network ---- */

#define HPCB_LINK_MAX 64

typedef struct {
    uint64_t bytes_per_second; /* in both directions; 0: no link has a known speed */
    char link[HPCB_LINK_MAX];  /* "eth0", "mlx5_0 port 1" */
    unsigned silent;           /* number of links that are up and have no known speed */
} hpcb_network_t;

/*
 * Get the fastest link of the node below root ("" for this one) that is up, from
 * /sys/class/net (Ethernet and IP over InfiniBand on real devices) and
 * /sys/class/infiniband.  Not their sum, because a job uses one of them.
 */
void hpcb_calibrate_network(const char *root, hpcb_network_t *network);

/* ---- The line for hpc-balance.conf ---- */

/* Write "NodeName=n1 MemBandwidth=38.2G NetBandwidth=232.8M"; a bandwidth of 0 is
 * omitted.  Return -1 if it does not fit or nothing is known. */
int hpcb_calibrate_line(const char *node, uint64_t mem, uint64_t net, char *line,
                        size_t size);

#endif
