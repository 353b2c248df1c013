/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Interception of a waiting MPI.  All MPIs wait in a loop of passes, and each pass
 * calls a function of another shared library: sched_yield of the C library,
 * ucp_worker_progress of UCX, opal_progress of Open MPI.  This library interposes these
 * functions, and lets a thread that is inside a blocking MPI call (wait.h) sleep after
 * passes that found nothing.  Outside of such calls they are passed on directly.
 *
 * The table in hook.c has a row for each function: which result means "nothing found",
 * and what makes the MPI call it.
 */
#ifndef HPCB_MPI_HOOK_H
#define HPCB_MPI_HOOK_H

#include <stdbool.h>

/* Call before MPI_Init or MPI_Session_init, and after it has failed or succeeded:
 * prepare an MPI that determines at its start how it waits and sends.  No effect if
 * waits do not become sleeps. */
void hpcb_hook_before_init(void);
void hpcb_hook_after_init(void);

/* Call around MPI_Finalize and MPI_Session_finalize, of any thread, also nested: no
 * thread sleeps in UCX's progress meanwhile. */
void hpcb_hook_before_finalize(void);
void hpcb_hook_after_finalize(void);

/*
 * Call from each successful MPI_Init and MPI_Session_init: intercept the MPI's waits.
 * Return false if there is no row for this MPI; its waits stay unchanged then.  With
 * HPCB_DEBUG one line on stderr names the row.
 */
bool hpcb_hook_start(void);

#endif
