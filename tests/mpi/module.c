/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * MPI inside a module that a program loads at run time, as Python does with mpi4py: the
 * MPI library is not among the symbols of the process.  dlopened.c is the program.
 */
#define _GNU_SOURCE
#include <time.h>
#include "say.h"
#include "slept.h"

#define LATE_NS 100000000L

int module_run(void);

int module_run(void)
{
    struct timespec late = {0, LATE_NS};
    struct rusage before;
    int rank, sum = 0, value = 0;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    say_open("", rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        before = slept_begin();
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        say("sleeps: %d", slept_since(&before));
    } else {
        nanosleep(&late, NULL);
        value = 5;
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    say("sum %d value %d", sum, value);
    MPI_Finalize();
    return 0;
}
