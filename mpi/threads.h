/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The threads of a process that are inside MPI calls, where several may be
 * (MPI_THREAD_MULTIPLE).  A thread that sleeps in its progress loop may be the one that
 * the others rely on, and with MPICH it may hold the lock that they need: who enters
 * wakes it, and it does not sleep with a lock while others are inside.
 *
 * Any thread may call these; nothing here blocks.
 */
#ifndef HPCB_MPI_THREADS_H
#define HPCB_MPI_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* Begin to count, from MPI_Init; before that all below do nothing and allow naps. */
void hpcb_threads_setup(void);

/* A call begins, its stack frame at frame.  Return whether it is the thread's outermost
 * one: then hpcb_threads_leave must follow. */
bool hpcb_threads_enter(uintptr_t frame);
void hpcb_threads_leave(void);

/* Whether this thread may sleep; locked: it holds a lock of the MPI's.  If true,
 * hpcb_threads_nap_end must follow; early: the sleep did not last as long as it was to,
 * and so others that sleep are woken, too. */
bool hpcb_threads_nap_begin(bool locked);
void hpcb_threads_nap_end(bool early);

/* Whether a thread has entered since this one asked last. */
bool hpcb_threads_came(void);

#endif
