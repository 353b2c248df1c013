/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Whether a process will run its program again.  The kernel takes a process apart after
 * it has left its control group (v1: what exits is shown in the root group), and in its
 * own time, which an idle guest hardly gets.
 */
#ifndef HPCB_CGROUP_LIFE_H
#define HPCB_CGROUP_LIFE_H

#include <stdbool.h>
#include <sys/types.h>

typedef enum { HPCB_ALIVE, HPCB_EXITING, HPCB_GONE } hpcb_life_t;

/* HPCB_EXITING if no thread of process pid lives and some are exiting: a user's main
 * thread may end long before the others.  HPCB_GONE if all have ended, also if somebody
 * who traces the process has not let it go. */
hpcb_life_t hpcb_life(pid_t pid);

/* The same of one thread.  HPCB_ALIVE if nobody can tell. */
hpcb_life_t hpcb_life_of_thread(pid_t pid, pid_t tid);

/*
 * Return true if no thread of the process will run user code again: each has ended,
 * exits, or has been killed.  A single thread says nothing: one that calls execve takes
 * over the id of the leader, which died long ago.  False if threads come and go too
 * fast to tell.
 */
bool hpcb_life_over(pid_t pid);

/* The number after name ("\nUid:") in /proc/PID/task/TID/status.  0 or -1. */
int hpcb_life_status(pid_t pid, pid_t tid, const char *name, int base,
                     unsigned long long *value);

#endif
