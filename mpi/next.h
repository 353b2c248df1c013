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

/* The data object called name as the whole process sees it, NULL if there is none. */
void *hpcb_data(const char *name);

/* Whether the MPI that a process calls has name, in its library or one below that. */
bool hpcb_mpi_has(const char *name);

/* Whether both functions lie in one loaded object; false if either is NULL. */
bool hpcb_same_object(hpcb_fn_t a, hpcb_fn_t b);

#endif
