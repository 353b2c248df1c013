/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Whether a process will run its program again.  The kernel releases a process after it
 * has left its control group (on v1 an exiting process is shown in the root group), and
 * at its own priority, which for an idle guest may take long.
 */
#ifndef HPCB_CGROUP_LIFE_H
#define HPCB_CGROUP_LIFE_H

#include <stdbool.h>
#include <sys/types.h>

typedef enum { HPCB_ALIVE, HPCB_EXITING, HPCB_GONE } hpcb_life_t;

/* Return HPCB_EXITING if no thread of process pid is alive and some are exiting; a
 * user's main thread may end long before the others.  Return HPCB_GONE if all have
 * ended, also if a tracer has not released the process. */
hpcb_life_t hpcb_life(pid_t pid);

/* Return the state of one thread; HPCB_ALIVE if it cannot be read. */
hpcb_life_t hpcb_life_of_thread(pid_t pid, pid_t tid);

/*
 * Return true if no thread of the process will run user code again: each has ended,
 * exits, or has been killed.  The main thread alone is not enough: a thread that calls
 * execve takes over its ID.  Return false if threads come and go too fast to scan.
 */
bool hpcb_life_over(pid_t pid);

/* Read the number after name ("\nUid:") in /proc/PID/task/TID/status.  Return 0 or
 * -1. */
int hpcb_life_status(pid_t pid, pid_t tid, const char *name, int base,
                     unsigned long long *value);

#endif
