/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Whether a thread slept or polled while it waited, whatever else the machine does: a
 * sleeper gives its CPU away of itself (voluntary context switches, getrusage(2)) and
 * uses little between two times; one that polls, and yields, is only ever switched off
 * by the kernel.  Define _GNU_SOURCE first, for RUSAGE_THREAD.
 */
#ifndef HPCB_TESTS_MPI_SLEPT_H
#define HPCB_TESTS_MPI_SLEPT_H

#include <sys/resource.h>

/* 20 to 70 us of CPU for a nap and the tests before it were seen; fortran.f90 and
 * f08.f90 have the same limit. */
#define SLEPT_CPU_S 0.0002

static inline struct rusage slept_begin(void)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage);
    return usage;
}

static inline double slept_cpu(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e-6;
}

static inline int slept_since(const struct rusage *before)
{
    struct rusage now = slept_begin();
    long times = now.ru_nvcsw - before->ru_nvcsw;

    return slept_cpu(&now) - slept_cpu(before) < (double)times * SLEPT_CPU_S;
}

#endif
