/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a process of the benches knows about itself: wall, CPU time and the time
 * that it was runnable but kept waiting for a CPU (run_delay: stolen time).
 */
#ifndef HPCB_BENCH_USAGE_H
#define HPCB_BENCH_USAGE_H

#include <stdint.h>

/* All times in seconds.  Doubles throughout, so that MPI can gather it as it is. */
typedef struct {
    double start; /* CLOCK_MONOTONIC, the same in all namespaces of a machine */
    double end;
    double cpu;         /* user and system, all threads */
    double run_delay;   /* /proc/self/task/<tid>/schedstat, second field, summed */
    double voluntary;   /* context switches: the process went to sleep */
    double involuntary; /* context switches: somebody else got the CPU */
} bench_usage_t;

/* Seconds of CLOCK_MONOTONIC. */
double bench_now(void);

/* Seconds of CPU time of this process, and of this thread alone. */
double bench_process_cpu(void);
double bench_thread_cpu(void);

/*
 * Open a measurement.  Threads that end before bench_usage_stop() take their
 * run_delay along: start it when they are up and stop it before they end.
 * Returns -1 with errno when /proc gives no schedstat (CONFIG_SCHED_INFO is off).
 */
int bench_usage_start(bench_usage_t *usage);

/* Close it: every field but start and end becomes the difference. */
int bench_usage_stop(bench_usage_t *usage);

/*
 * Print the fields as members of a JSON object, without braces:
 * "start":…,"end":…,"wall":…,"cpu":…,"run_delay":…,"stolen":…,"voluntary":…,
 * "involuntary":…  (stolen = run_delay / wall).
 */
void bench_usage_print(const bench_usage_t *usage);

#endif
