/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Lookup of the symbols that this library interposes. */
#ifndef HPCB_MPI_NEXT_H
#define HPCB_MPI_NEXT_H

#include <stdbool.h>

/* A function; cast it to its type before the call. */
typedef void (*hpcb_fn_t)(void);

/*
 * Return the function called name that a caller would reach without this library; NULL
 * if there is none.  caller: an address in the calling code, NULL if unknown.
 * Thread-safe; takes the dynamic loader's lock.
 */
hpcb_fn_t hpcb_next(const char *name, const void *caller);

/* Do the same for name, or if there is none for fallback.  If there is neither, print
 * one line and end the process like the dynamic loader does. */
hpcb_fn_t hpcb_need(const char *name, const char *fallback, const void *caller);

/*
 * Do the same for a name that a process may have several times, in copies of one
 * library that modules have loaded: return the one to which the dynamic loader bound
 * the object of caller.  That object stays loaded.
 */
hpcb_fn_t hpcb_need_bound(const char *name, const void *caller);

/* Return the function called name in the library of the MPI that the process calls, or
 * in one of its dependencies; NULL if there is none. */
hpcb_fn_t hpcb_mpi_symbol(const char *name);

#endif
