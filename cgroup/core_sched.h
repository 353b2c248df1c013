/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Core scheduling (prctl(2) PR_SCHED_CORE, Linux 5.14, CONFIG_SCHED_CORE): tasks with
 * different cookies never run at the same time on threads of one core.  Cookie 0, which
 * tasks have by default, is a cookie like any other.
 *
 * Rules of the kernel:
 *  - Children and programs started inherit the cookie.
 *  - A cookie cannot be removed.  A task gets another cookie, also cookie 0, only from
 *    a task that has it, or a new one.
 *  - A user may do that among all tasks that the user may inspect (ptrace, mode read):
 *    the user's own, in any job or session.  mechanism_core.c describes what a hostile
 *    guest can do with it.
 *
 * Only a task that has a cookie can pass it on.  The calls that need one run in a
 * thread of their own, so that slurmstepd's threads never have a guest's cookie.
 */
#ifndef HPCB_CGROUP_CORE_SCHED_H
#define HPCB_CGROUP_CORE_SCHED_H

#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

/* Return 0 if the kernel has core scheduling and detects SMT; -1 with err otherwise. */
int hpcb_core_probe(hpcb_error_t *err);

/* Get the cookie of one thread as a number that identifies it (the kernel hashes it; 0:
 * none).  A kernel without initialized random numbers returns 0 as well.  tid 0 is the
 * calling thread.  Return 0, or -1 with errno and err. */
int hpcb_core_cookie(pid_t tid, uint64_t *id, hpcb_error_t *err);

/* Give process pid, with all its threads, a new unique cookie. */
int hpcb_core_create(pid_t pid, hpcb_error_t *err);

/* Give process pid the cookie of thread `from`, if that still has the cookie id (by
 * hpcb_core_cookie; the thread ID may have been reused).  id 0 removes the cookie; from
 * may then be 0, and the function finds a task without a cookie. */
int hpcb_core_share(pid_t from, uint64_t id, pid_t pid, hpcb_error_t *err);

/* Replacement for prctl(PR_SCHED_CORE, command, pid, scope, id) in tests, because few
 * kernels have it.  NULL: the kernel again.  Not thread-safe. */
typedef int (*hpcb_core_call_t)(int command, pid_t pid, int scope, uint64_t *id);
void hpcb_core_set_call(hpcb_core_call_t call);

/* The kernel's numbers, for replacements. */
#define HPCB_CORE_GET        0
#define HPCB_CORE_CREATE     1
#define HPCB_CORE_SHARE_TO   2
#define HPCB_CORE_SHARE_FROM 3
#define HPCB_CORE_THREAD     0
#define HPCB_CORE_PROCESS    1

#endif
