/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Names of ours that the MPI of the process may lack (MPI 4).  Programs that run with
 * MPIs of all ages ask the dynamic loader whether there is an MPI_Send_c (mpi4py as it
 * comes from PyPI, by weak references), and would find ours.  So they are hidden from
 * the loader until an MPI that has them has begun.
 */
#ifndef HPCB_MPI_NAMES_H
#define HPCB_MPI_NAMES_H

#include <stddef.h>
#include "mpi/next.h"

#define HPCB_NAMES_MAX 256

typedef struct {
    const char *name;
    hpcb_fn_t own; /* this library's function of that name */
} hpcb_name_t;

/*
 * Hide those of names that the process has not got elsewhere; from a constructor,
 * before other threads run.  At most HPCB_NAMES_MAX; names
 * must stay.  A name that cannot be hidden stays
 * visible.
 */
void hpcb_names_hide(const hpcb_name_t *names, size_t count);

/* Show those that the MPI has after all; from MPI_Init. */
void hpcb_names_show(void);

#endif
