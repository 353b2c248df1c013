/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Run delay of a group of tasks: the sum over its CPUs of the time in which a task was
 * ready to run and had to wait.
 *
 * The kernel (psi.c, collect_percpu_times) reports the mean over the CPUs of the group,
 * each weighted by the time in which the group wanted that CPU.  A group that wants k
 * CPUs all the time and is kept waiting on them for the mean M of the time T uses
 * k (T - M) of CPU time, so that k follows from the CPU time that it has used.
 */
#ifndef HPCB_POLICY_DELAY_H
#define HPCB_POLICY_DELAY_H

#include <stdint.h>

/*
 * Return the sum over the CPUs, in us.  mean_us is what the kernel's figure has grown
 * by in passed_us, cpu_us the CPU time of the group meanwhile, cpus the number of CPUs
 * that it can be on at once (the smaller one of its threads and the CPUs that it may
 * use).
 *
 * Exact for one CPU, and for any number of CPUs on which it is kept waiting if it wants
 * these all the time and has no more threads than CPUs, however unlike they are.  If it
 * wants them for a part w of the time, the result is too small by up to the factor w,
 * but never below the mean.  A group with more threads than CPUs waits for itself; then
 * the result is at most the mean times cpus.
 */
uint64_t hpcb_delay_sum(uint64_t mean_us, uint64_t cpu_us, uint64_t passed_us,
                        unsigned cpus);

#endif
