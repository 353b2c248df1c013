/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The running kernel, in groups of our own that are removed afterwards.  For root on a
 * machine with a v1 cpu hierarchy and a cgroup2 mount; elsewhere tests return early.
 */
#ifndef HPCB_TESTS_REAL_KERNEL_H
#define HPCB_TESTS_REAL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Unchecked fixture: make the groups / remove them. */
void real_setup(void);
void real_teardown(void);

/* Enter the groups in a cgroup and mount namespace of the caller's own, so that they
 * show as the roots of their hierarchies, like a node of hpcb-sandbox.  False where
 * this machine cannot do that. */
bool real_enter(void);

/* Why not; for a line on stderr. */
const char *real_why(void);

/* fork() whose child dies with its parent, and after a minute in any case: a test that
 * fails must leave nobody behind. */
pid_t real_fork(void);

/* A busy loop in a session of its own, bound to one CPU (the same for all). */
pid_t real_burner(void);

/* A process whose main thread has ended, while another one that has touched bytes of
 * memory runs on. */
pid_t real_leaderless(size_t bytes);

typedef struct {
    uint64_t cpu_us;
    uint64_t delay_us;
} real_time_t;

/* From /proc/PID/schedstat. */
real_time_t real_time(pid_t pid);
void real_sleep_ms(int ms);
void real_reap(pid_t pid);

#endif
