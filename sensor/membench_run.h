/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * membench's threads: opened once, each with a block that it has touched first where it
 * runs, then one pass after the other.  Used by bench/membench and by `hpcbctl
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
    size_t block;            /* bytes of each thread, a chunk of any stride at least */
    size_t line;             /* bytes of a cache line */
    bool huge_pages;         /* ask for them (MADV_HUGEPAGE), or ask for none */
} hpcb_membench_options_t;

typedef struct {
    size_t stride; /* words, 1..HPCB_MEMBENCH_STRIDE_MAX */
    unsigned reuse;
    bool write; /* what was read */
    double seconds;
    double every; /* seconds between samples; 0: none */
    /* Called at the start, every so often and at the end, with CLOCK_MONOTONIC and the
     * bytes moved in this pass so far. */
    void (*sample)(double when, uint64_t bytes, void *arg);
    void *arg;
} hpcb_membench_pass_t;

typedef struct {
    double start; /* CLOCK_MONOTONIC: the first thread began */
    double end;   /* the last one ended */
    uint64_t bytes;
    uint64_t accesses;
    double cpu; /* seconds of CPU that the threads got: less than threads x wall where
                   others competed for their CPUs */
} hpcb_membench_result_t;

/* Start the threads and wait until they have touched their blocks.  -1 with err where
 * they would take more than half of the memory that is available, or cannot be started;
 * the caller closes what it got. */
int hpcb_membench_open(const hpcb_membench_options_t *options, hpcb_membench_t **bench,
                       hpcb_error_t *err);
void hpcb_membench_close(hpcb_membench_t *bench);

/* Bytes of this process that are in huge pages now; 0 where the kernel cannot tell. */
size_t hpcb_membench_huge_bytes(void);

/* One pass.  -1 with err, result untouched, where memory gave back other values than
 * were written. */
int hpcb_membench_pass(hpcb_membench_t *bench, const hpcb_membench_pass_t *pass,
                       hpcb_membench_result_t *result, hpcb_error_t *err);

/* End the pass that is running, or else the next one as it begins: for signal handlers.
 */
void hpcb_membench_stop(hpcb_membench_t *bench);

#endif
