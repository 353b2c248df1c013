/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Processes of a guest's job that exit or have been killed: for spank/dying.c, and for
 * hpcbd/memory/end.c, which needs their memory at once.  Only threads that will run no
 * user code again get a higher priority, and their children start as SCHED_OTHER. */
#ifndef HPCB_CGROUP_EXITING_H
#define HPCB_CGROUP_EXITING_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Make every thread of each process below Slurm's directory of the job SCHED_FIFO if
 * all threads of that process are exiting.  This is undone at once for a process that
 * is alive or has been replaced by another, and for a killed thread that is not exiting
 * after 10 ms.  group is our v1 cpu group of the job, "" if it is in none: our groups
 * get a real-time budget if the kernel requires one.  Return 0, or -1 if the kernel
 * refuses, which it does in any v2 group except the root with CONFIG_RT_GROUP_SCHED.
 */
int hpcb_exiting_lift(const char *dir, const char *group);

/* Make threads below dir that have a real-time policy SCHED_OTHER, whatever gave it to
 * them, except slurmstepds; exiting processes only if dying is true.  A call scans 512
 * processes, starting at number from, which is initially 0.  Return the number at which
 * to continue. */
size_t hpcb_exiting_lower(const char *dir, bool dying, size_t from);

/* Return whether everything below dir except slurmstepds is exiting.  Return false if
 * there are too many processes to scan. */
bool hpcb_exiting_all(const char *dir);

#endif
