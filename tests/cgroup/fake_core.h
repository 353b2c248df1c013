/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Core scheduling for a kernel that has none: keeps cookies as the kernel does
 * (children aside), the caller's own by thread.  tests/platforms/smt asks a kernel that
 * has it.
 */
#ifndef HPCB_TESTS_FAKE_CORE_H
#define HPCB_TESTS_FAKE_CORE_H

#include <stdint.h>
#include <sys/types.h>

/* Answer from now on, with no cookies; fake_core_stop: the kernel again. */
void fake_core_start(void);
void fake_core_stop(void);

/* Every call fails with error from now on (0: none). */
void fake_core_fail(int error);

/* What a task has / is given behind everybody's back; pid 0 is the calling thread. */
uint64_t fake_core_cookie(pid_t pid);
void fake_core_set(pid_t pid, uint64_t cookie);

#endif
