/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Threads of a job that the kernel is taking apart, or is about to because they have
 * been killed: for spank/dying.c alone. */
#ifndef HPCB_SPANK_EXITING_H
#define HPCB_SPANK_EXITING_H

#include <stdbool.h>
#include <sys/types.h>

typedef enum { HPCB_ALIVE, HPCB_EXITING, HPCB_GONE } hpcb_life_t;

/* HPCB_EXITING where no thread of process pid lives: a user's main thread may end long
 * before the others. */
hpcb_life_t hpcb_spank_life(pid_t pid);

/*
 * Make those threads below Slurm's directory of the job that are exiting SCHED_FIFO, or
 * SCHED_OTHER again.  group is our v1 cpu group of the job, "" where it is in none:
 * groups of ours get a real-time budget where the kernel wants one.  -1 where the
 * kernel refuses: in a v2 group other than the root if it has CONFIG_RT_GROUP_SCHED.
 */
int hpcb_spank_exiting_lift(const char *dir, const char *group, bool lift);

/* Whether everything below dir is exiting, slurmstepds aside.  False where there is too
 * much to look at. */
bool hpcb_spank_exiting_all(const char *dir);

#endif
