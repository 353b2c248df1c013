/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Finding the symbols that this library stands in front of. */
#ifndef HPCB_MPI_NEXT_H
#define HPCB_MPI_NEXT_H

#include <stdbool.h>

/* Any function; cast to its real type before it is called. */
typedef void (*hpcb_fn_t)(void);

/*
 * The function called name that a caller would reach without this library; NULL if
 * there is none.  caller: an address in the code that asks for it, NULL if unknown.
 * Thread-safe; takes the dynamic loader's lock.
 */
hpcb_fn_t hpcb_next(const char *name, const void *caller);

/* The same, or that called fallback; if there is neither, print one line and end the
 * process as the dynamic loader does. */
hpcb_fn_t hpcb_need(const char *name, const char *fallback, const void *caller);

/*
 * The same for a name that a process may have several of, in copies of one library that
 * modules brought along: the one that the dynamic loader bound the object of caller to.
 * Objects stay loaded for which that is asked.
 */
hpcb_fn_t hpcb_need_bound(const char *name, const void *caller);

/* The function called name in the library of the MPI that the process calls, or in one
 * below that; NULL if there is none. */
hpcb_fn_t hpcb_mpi_symbol(const char *name);

#endif
