/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Functions of this library that the process' MPI may lack (MPI 4).  Programs that run
 * with MPIs of any age ask the dynamic loader whether there is an MPI_Send_c (mpi4py
 * from PyPI, by weak references), and would find ours.  So these names are hidden from
 * the loader until an MPI that has them has started.
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
 * Hide those of names that the process has nowhere else; from a constructor, before
 * other threads run.  At most HPCB_NAMES_MAX; names must stay valid.  A name that
 * cannot be hidden stays visible.
 */
void hpcb_names_hide(const hpcb_name_t *names, size_t count);

/* Show those that the MPI has; from MPI_Init. */
void hpcb_names_show(void);

#endif
