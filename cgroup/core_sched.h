/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Core scheduling (prctl(2) PR_SCHED_CORE, Linux 5.14, CONFIG_SCHED_CORE): tasks with
 * different cookies never run at the same time on threads of one core.  Cookie 0, which
 * everybody has who was given none, is a cookie like any other.
 *
 * What the kernel allows, and what follows:
 *  - children and programs started inherit the cookie;
 *  - there is no "take off": a task gets another cookie, 0 too, only from a task that
 *    has it, or a new one;
 *  - a user may do that among all tasks that the user may look at (ptrace, mode read):
 *    the user's own, in whatever job or session they are.  See mechanism_core.c for
 *    what a hostile guest makes of it.
 *
 * To pass on a cookie one has to have it.  The calls that need that do it in a thread
 * of their own, so that slurmstepd's threads never carry a guest's cookie.
 */
#ifndef HPCB_CGROUP_CORE_SCHED_H
#define HPCB_CGROUP_CORE_SCHED_H

#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"

/* 0 where the kernel has core scheduling and sees SMT; -1 and why not. */
int hpcb_core_probe(hpcb_error_t *err);

/* The cookie of one thread as a number that stands for it (the kernel hashes it; 0:
 * none).  A kernel whose random numbers are not ready yet says 0 as well.  tid 0 is the
 * calling thread.  -1 with errno and err. */
int hpcb_core_cookie(pid_t tid, uint64_t *id, hpcb_error_t *err);

/* Give process pid, all threads of it, a new cookie that nobody has. */
int hpcb_core_create(pid_t pid, hpcb_error_t *err);

/* Give process pid the cookie of thread `from`, if that is still id (what
 * hpcb_core_cookie said: meanwhile `from` may have become somebody else).  id 0 takes
 * the cookie off; from may then be 0: a task without cookie is found. */
int hpcb_core_share(pid_t from, uint64_t id, pid_t pid, hpcb_error_t *err);

/* What stands in for prctl(PR_SCHED_CORE, command, pid, scope, id), for tests: there
 * are few kernels that have it.  NULL: the kernel again.  Not thread-safe. */
typedef int (*hpcb_core_call_t)(int command, pid_t pid, int scope, uint64_t *id);
void hpcb_core_set_call(hpcb_core_call_t call);

/* For such a stand-in: the kernel's numbers. */
#define HPCB_CORE_GET        0
#define HPCB_CORE_CREATE     1
#define HPCB_CORE_SHARE_TO   2
#define HPCB_CORE_SHARE_FROM 3
#define HPCB_CORE_THREAD     0
#define HPCB_CORE_PROCESS    1

#endif
