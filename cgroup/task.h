/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a mechanism can change on a running task, each attribute read and set as text,
 * so that the undo log can note it and put it back.  Tasks are always those of the
 * running system, also where the node is a snapshot.
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
 *   slice          thread   how long it runs before others have their turn, ns (Linux
 *                           6.12); "0": the kernel's own.  If the policy has none or
 *                           the kernel does not tell, it cannot be read (ENOTSUP), and
 *                           is set to nothing
 *   affinity       thread   hexadecimal mask, highest CPU first
 *   process-affinity  process  the same for all of its threads, also those that it has
 *                           started since; ENOTUNIQ where they differ
 *   rlimit-nice    process  "<soft> <hard>", each a number or "unlimited"
 *   rlimit-rtprio  process  the same
 *   oom_score_adj  process  -1000..1000
 *   core-cookie    process  number of its core-scheduling cookie (cgroup/core_sched.h);
 *                           can be set only to what the caller or the task's parent
 *                           has, or to 0 (none); ESRCH where nobody has it any more
 *   cgroup         process  set only: the directory of the group to move to
 */
int hpcb_task_get(pid_t pid, const char *attribute, char *text, size_t size,
                  hpcb_error_t *err);
int hpcb_task_set(pid_t pid, const char *attribute, const char *text,
                  hpcb_error_t *err);

/* Where one thread may run.  0, or -1 with errno and err. */
int hpcb_task_cpus(pid_t tid, hpcb_cpus_t *cpus, hpcb_error_t *err);

/* cpus as the text of the attribute affinity; HPCB_TASK_TEXT_MAX is always enough. */
int hpcb_task_mask(const hpcb_cpus_t *cpus, char *text, size_t size);

/* When the task started (clock ticks since boot): with the pid it names a task for
 * ever.  -1 with errno ESRCH where there is none. */
int hpcb_task_start(pid_t pid, uint64_t *start);

/* Whether the task runs another program than its parent: a task of Slurm's, forked by
 * slurmstepd, is bound to its CPUs until then (22.05: by itself, after task_post_fork).
 * True where nobody can tell. */
bool hpcb_task_begun(pid_t pid);

/* The thread ids of process pid; the caller frees them.  At most 65536: what starts
 * during the call may be missing.  -1 with errno and err. */
int hpcb_task_threads(pid_t pid, pid_t **tids, size_t *count, hpcb_error_t *err);

/* Whether a thread of process pid has a real-time policy (SCHED_FIFO, SCHED_RR or
 * SCHED_DEADLINE).  False if the process has ended. */
bool hpcb_task_realtime(pid_t pid);

/* Make every thread of process pid that has a real-time policy SCHED_OTHER.  The number
 * of threads that were changed, or -1 with errno and err; a process or a thread that
 * has ended is no failure. */
int hpcb_task_end_realtime(pid_t pid, hpcb_error_t *err);

#endif
