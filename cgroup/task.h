/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Attributes of a running task that mechanisms change, each read and set as text, so
 * that the undo log can store and restore it.  Tasks are always those of the running
 * system, also if the node is a snapshot.
 */
#ifndef HPCB_CGROUP_TASK_H
#define HPCB_CGROUP_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"
#include "policy/cpus.h"

#define HPCB_TASK_TEXT_MAX 2048 /* an affinity mask of 8192 CPUs */

/*
 * Attributes (thread = that thread only, process = all of it):
 *   policy         thread   "<policy> <static priority>", SCHED_RESET_ON_FORK included
 *   nice           thread   -20..19
 *   ioprio         thread   class << 13 | level, as ioprio_get(2)
 *   slice          thread   run time before other tasks get their turn, ns (Linux
 *                           6.12); "0": the kernel's default.  ENOTSUP if the policy
 *                           has none or the kernel does not show it; setting it then
 *                           does nothing
 *   affinity       thread   hexadecimal mask, highest CPU first
 *   process-affinity  process  the same for all of its threads, also those started
 *                           since then; ENOTUNIQ if they differ
 *   rlimit-nice    process  "<soft> <hard>", each a number or "unlimited"
 *   rlimit-rtprio  process  the same
 *   oom_score_adj  process  -1000..1000
 *   core-cookie    process  number of its core-scheduling cookie (cgroup/core_sched.h);
 *                           can be set only to that of the caller or the task's parent,
 *                           or to 0 (none); ESRCH if no task has it any more
 *   cgroup         process  set only: the directory of the group to move to
 */
int hpcb_task_get(pid_t pid, const char *attribute, char *text, size_t size,
                  hpcb_error_t *err);
int hpcb_task_set(pid_t pid, const char *attribute, const char *text,
                  hpcb_error_t *err);

/* Get the affinity of one thread.  Return 0, or -1 with errno and err. */
int hpcb_task_cpus(pid_t tid, hpcb_cpus_t *cpus, hpcb_error_t *err);

/* Write cpus as the text of the attribute affinity; HPCB_TASK_TEXT_MAX is always
 * enough. */
int hpcb_task_mask(const hpcb_cpus_t *cpus, char *text, size_t size);

/* Get the start time of the task (clock ticks since boot), which identifies it together
 * with the pid.  Return 0, or -1 with errno ESRCH if there is none. */
int hpcb_task_start(pid_t pid, uint64_t *start);

/* Return whether the task runs another program than its parent.  A task of Slurm,
 * forked by slurmstepd, is bound to its CPUs before that (22.05: by itself, after
 * task_post_fork).  Return true if this cannot be read. */
bool hpcb_task_begun(pid_t pid);

/* Get the thread IDs of process pid; the caller frees them.  At most 65536; threads
 * that start during the call may be missing.  Return 0, or -1 with errno and err. */
int hpcb_task_threads(pid_t pid, pid_t **tids, size_t *count, hpcb_error_t *err);

/* Return whether a thread of process pid has a real-time policy (SCHED_FIFO, SCHED_RR
 * or SCHED_DEADLINE).  Return false if the process has ended. */
bool hpcb_task_realtime(pid_t pid);

/* Make every thread of process pid that has a real-time policy SCHED_OTHER.  Return the
 * number of changed threads, or -1 with errno and err; a process or a thread that has
 * ended is no failure. */
int hpcb_task_end_realtime(pid_t pid, hpcb_error_t *err);

#endif
