/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Processes of a guest's job that the kernel is taking apart, or is about to because
 * they have been killed: for spank/dying.c, and for hpcbd/memory/end.c, which needs
 * their memory at once.  Only what will run no user code again is lifted, and every
 * child of it starts as SCHED_OTHER. */
#ifndef HPCB_CGROUP_EXITING_H
#define HPCB_CGROUP_EXITING_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Make every thread of each process below Slurm's directory of the job SCHED_FIFO, if
 * all threads of that process are exiting.  A process that is not the same after that,
 * or lives, is let down at once; a thread that was killed and is not exiting 10 ms
 * later, too.  group is our v1 cpu group of the job, "" where it is
 * in none: groups of ours get a real-time budget where the kernel wants one.  -1 where
 * the kernel refuses: in a v2 group other than the root if it has
 * CONFIG_RT_GROUP_SCHED.
 */
int hpcb_exiting_lift(const char *dir, const char *group);

/* Make threads below dir that have a real-time policy SCHED_OTHER, whoever gave it to
 * them, slurmstepds aside; processes that are exiting only if dying is true.  A call
 * looks at 512 processes, from number from on, which is 0 at first.  Return where the
 * next one is to begin. */
size_t hpcb_exiting_lower(const char *dir, bool dying, size_t from);

/* Whether everything below dir is exiting, slurmstepds aside.  False where there is too
 * much to look at. */
bool hpcb_exiting_all(const char *dir);

#endif
