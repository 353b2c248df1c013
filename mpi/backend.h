/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* One back end per MPI ABI: backend.c compiled with that MPI's mpi.h. */
#ifndef HPCB_MPI_BACKEND_H
#define HPCB_MPI_BACKEND_H

#include "mpi/next.h"

enum hpcb_call {
#define CALL(name, nargs) HPCB_CALL_##name,
#include "mpi/calls.def"
    HPCB_CALLS
};

typedef struct {
    /* A symbol that every MPI of this ABI defines, and no other. */
    const char *marker;
    /* From MPI_Init: find what is needed of the MPI.  -1: cannot be used, pass through.
     */
    int (*start)(void);
    /* From MPI_Finalize, before MPI ends. */
    void (*stop)(void);
    /* What stands in for the call of each number; NULL: nothing. */
    const hpcb_fn_t *replacement;
} hpcb_backend_t;

extern const hpcb_backend_t hpcb_backend_openmpi;
extern const hpcb_backend_t hpcb_backend_mpich;

#endif
