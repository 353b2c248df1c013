/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Where a waiting MPI comes by.  All MPIs wait in a loop of passes, and each pass calls
 * something in another shared library: sched_yield of the C library,
 * ucp_worker_progress of UCX, opal_progress of Open MPI.  This library stands in front
 * of these, and lets a thread that is inside a blocking MPI call (wait.h) sleep after
 * passes that found nothing.  Outside of such calls they go straight on.
 *
 * Which of them says "nothing was found", and what makes the MPI call it, is a row of
 * the table in hook.c.
 */
#ifndef HPCB_MPI_HOOK_H
#define HPCB_MPI_HOOK_H

#include <stdbool.h>

/* Before MPI_Init or MPI_Session_init, and after it has failed or succeeded: prepare an
 * MPI that reads at its beginning how it is to wait and to send.  Nothing, if waits are
 * not to become sleeps. */
void hpcb_hook_before_init(void);
void hpcb_hook_after_init(void);

/* Around MPI_Finalize and MPI_Session_finalize, of any thread, also inside of each
 * other: meanwhile nobody sleeps in UCX's progress. */
void hpcb_hook_before_finalize(void);
void hpcb_hook_after_finalize(void);

/*
 * From each MPI_Init and MPI_Session_init that succeeded: make the MPI's waits come by.
 * Return false if this MPI has no known hook; its waits then stay as they are.  With
 * HPCB_DEBUG one line on stderr says which it is.
 */
bool hpcb_hook_start(void);

#endif
