/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * membench's threads: opened once, each with a block that it touches first on its CPU,
 * followed by one pass after the other.  Used by bench/membench and by `hpcbctl
 * calibrate`, so that both measure the same.
 */
#ifndef HPCB_SENSOR_MEMBENCH_RUN_H
#define HPCB_SENSOR_MEMBENCH_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/error.h"
#include "policy/cpus.h"

#define HPCB_MEMBENCH_THREADS_MAX HPCB_CPUS_MAX

typedef struct hpcb_membench hpcb_membench_t;

typedef struct {
    unsigned threads;        /* 1..HPCB_MEMBENCH_THREADS_MAX */
    const hpcb_cpus_t *cpus; /* thread i is bound to the i-th of them; NULL: to none */
    size_t block;            /* bytes per thread, at least a chunk of any stride */
    size_t line;             /* bytes of a cache line */
    bool huge_pages;         /* request them (MADV_HUGEPAGE), or exclude them */
} hpcb_membench_options_t;

typedef struct {
    size_t stride; /* words, 1..HPCB_MEMBENCH_STRIDE_MAX */
    unsigned reuse;
    bool write; /* write the words that were read */
    double seconds;
    double every; /* seconds between samples; 0: none */
    /* Called at the start, at this interval and at the end, with CLOCK_MONOTONIC and
     * the bytes transferred in this pass so far. */
    void (*sample)(double when, uint64_t bytes, void *arg);
    void *arg;
} hpcb_membench_pass_t;

typedef struct {
    double start; /* CLOCK_MONOTONIC: begin of the first thread */
    double end;   /* end of the last thread */
    uint64_t bytes;
    uint64_t accesses;
    double cpu; /* CPU time of the threads in seconds: less than threads x wall time if
                   others compete for their CPUs */
} hpcb_membench_result_t;

/* Start the threads and wait until they have touched their blocks.  Return 0, after
 * which the caller closes bench, or -1 with err and bench unchanged if they would use
 * more than half of the available memory or cannot be started. */
int hpcb_membench_open(const hpcb_membench_options_t *options, hpcb_membench_t **bench,
                       hpcb_error_t *err);
void hpcb_membench_close(hpcb_membench_t *bench);

/* Return the bytes of this process in huge pages; 0 if the kernel does not show
 * them. */
size_t hpcb_membench_huge_bytes(void);

/* Run one pass.  Return 0, or -1 with err and result unchanged if memory returned other
 * values than were written. */
int hpcb_membench_pass(hpcb_membench_t *bench, const hpcb_membench_pass_t *pass,
                       hpcb_membench_result_t *result, hpcb_error_t *err);

/* End the present pass, or the next one at its begin: for signal handlers. */
void hpcb_membench_stop(hpcb_membench_t *bench);

#endif
