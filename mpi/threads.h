/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Threads of a process that are inside MPI calls, if there may be several
 * (MPI_THREAD_MULTIPLE).  The others may depend on a thread that sleeps in its progress
 * loop, and with MPICH it may hold a lock that they need.  So a thread that enters
 * wakes it, and it does not sleep with a lock while others are inside.
 *
 * Callable by any thread; nothing here blocks.
 */
#ifndef HPCB_MPI_THREADS_H
#define HPCB_MPI_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* Start counting, from MPI_Init; until then the functions below have no effect and
 * allow sleeps. */
void hpcb_threads_setup(void);

/* Begin a call with its stack frame at frame.  Return whether it is the thread's
 * outermost one: hpcb_threads_leave must follow then. */
bool hpcb_threads_enter(uintptr_t frame);
void hpcb_threads_leave(void);

/* Return whether this thread may sleep; locked: it holds a lock of the MPI.  If true,
 * hpcb_threads_nap_end must follow; early: the sleep was shorter than requested, so
 * other sleeping threads are woken, too. */
bool hpcb_threads_nap_begin(bool locked);
void hpcb_threads_nap_end(bool early);

/* Return whether a thread has entered since this one last asked. */
bool hpcb_threads_came(void);

#endif
